"""Checks that a store reopened after a power cut has all promised data and nothing else."""

from __future__ import annotations

import os

from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.records.batch import RecordBatch
from pybroker.storage.log.log import Log
from pybroker.storage.producers.prepared_append import producer_update
from pybroker.storage.producers.producer_state import EndMarker
from pybroker.storage.segment.batch_span import check_batch, read_batches
from pybroker.storage.segment.segment import Segment
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_logs import append_as_leader

from .busy_store import BusyStore, Promise, Told
from .storage_logs import NOW_MS, batch_of, records_from
from .storage_pools import HeldRunner


def check_promises(store: LogStore, busy: BusyStore, promises: dict[TopicPartition, Promise]) -> None:
    """Check all promises, then append to each log."""
    for log in store.all_logs():
        assert log.topic_partition in promises, f"{log} comes from nowhere"
    for tp, promise in promises.items():
        found = store.get(tp)
        if found is None:
            assert promise.may_be_missing, f"{tp} is gone"
            continue
        assert promise.exists, f"{tp} came back"
        check_log(found, promise, busy.told_of(tp, promise.generation))
        assert store.is_online(tp)
        end = found.log_end_offset
        assert append_as_leader(found, batch_of("afterwards"), 100, NOW_MS).first_offset == end


def check_places(store: LogStore) -> None:
    """Check that each log is in one directory, also after unfinished moves end, and that moves change nothing in the
    logs.
    """
    moving = {move.topic_partition for directory in store.directories.all for move in store.moves_to(directory)}
    before = {log.topic_partition: _all_of(log) for log in store.all_logs() if log.topic_partition in moving}
    finish_moves(store)
    places: dict[str, list[str]] = {}
    for directory in store.directories.all:
        for name in os.listdir(directory.path):
            if os.path.isdir(os.path.join(directory.path, name)):
                places.setdefault(name, []).append(directory.path)
    for log in store.all_logs():
        tp = log.topic_partition
        assert places.pop(str(tp)) == [os.path.dirname(log.directory)] == [store.directory_of(tp)], f"{log}: {places}"
        if tp in moving:
            assert _all_of(log) == before[tp], f"{log} has moved to {log.directory}"
            _check_indexes_of(log)
    assert not places, f"left over: {places}"


def finish_moves(store: LogStore) -> None:
    """Complete the moves that the last stop interrupted, and delete what it left to delete."""
    runner = HeldRunner(NOW_MS, step_ms=1000)
    store.moves.start(runner)
    runner.run()
    store.deletion.delete_leftovers()


def _all_of(log: Log) -> object:
    """The contents and the state of a log."""
    producers = {
        producer_id: (entry.producer_epoch, entry.batches[-1].last_sequence, entry.current_txn_first_offset)
        for producer_id, entry in log.producer_state.producers.items()
        if entry.batches
    }
    start, end = log.log_start_offset, log.log_end_offset
    aborted = [(found.producer_id, found.first_offset) for found in log.aborted_transactions(start, end)]
    return start, end, records_from(log), log.leader_epochs.entries, producers, aborted


def _check_indexes_of(log: Log) -> None:
    for segment in log.segments:
        _check_indexes(segment)


def check_log(log: Log, promise: Promise, told: Told) -> None:
    found = records_from(log)
    _check_records(log, found, promise, told)
    batches = [batch for segment in log.segments for batch in _batches(segment)]
    _check_indexes_of(log)
    for offset, value in found:
        assert value is not None
        hit = log.offset_for_timestamp(told.timestamps[value])
        assert hit is not None
        assert hit.offset == offset, f"{log}: by the timestamp of {offset} there is {hit}"
    _check_epochs(log, batches)
    _check_producers(log, batches)


def _check_records(log: Log, found: list[tuple[int, bytes | None]], promise: Promise, told: Told) -> None:
    start, end = log.log_start_offset, log.log_end_offset
    assert promise.least_start <= start, f"{log}: deleted records came back, it was to start at {promise.least_start}"
    assert [offset for offset, _ in found] == list(range(start, end)), f"{log} has {found}"
    here = dict(found)
    for offset, value in promise.records.items():
        if promise.start <= offset < promise.synced_end:
            assert here.get(offset) == value, f"{log}: {value!r} at {offset} was synced"
    before = None
    for offset, found_value in found:
        value = found_value or b""
        assert told.offsets.get(value) == offset, f"{log}: {value!r} was not appended at {offset}"
        assert before is None or (before, value) in told.behind, f"{log}: {value!r} did not follow {before!r}"
        before = value
    for offset in range(start, end):
        result = log.read(offset, 1, end, min_one_batch=True)
        assert result.region is not None, f"{log}: nothing to read at {offset}"


def _batches(segment: Segment) -> list[RecordBatch]:
    batches = [batch for _, batch in read_batches(segment.log_ref.file(), 0, segment.size_bytes)]
    for batch in batches:
        check_batch(batch)
    return batches


def _check_indexes(segment: Segment) -> None:
    positions: dict[int, int] = {}
    largest: dict[int, int] = {}
    timestamp = -1
    end = 0
    for position, batch in read_batches(segment.log_ref.file(), 0, segment.size_bytes):
        timestamp = max(timestamp, batch.max_timestamp)
        positions[batch.last_offset] = position
        largest[batch.last_offset] = timestamp
        end = position + batch.size_bytes
    assert end == segment.size_bytes == segment.log_ref.file().size(), f"{segment}: {end} bytes in whole batches"
    starts = set(positions.values())
    index = segment.offset_index
    previous = -1
    for slot in range(len(index)):
        relative, position = index.entry(slot)
        # For several batches of one write (in a copy) Kafka's index entry has the last offset and the first position.
        batch_position = positions.get(segment.base_offset + relative)
        assert batch_position is not None, f"{segment}: index entry {relative}"
        assert position in starts, f"{segment}: index entry {relative}"
        assert position <= batch_position, f"{segment}: index entry {relative}"
        assert relative > previous
        previous = relative
    times = segment.time_index
    previous = -1
    for slot in range(len(times)):
        stamp, relative = times.entry(slot)
        # Any offset of the batch will do, and older Kafkas name the record's own: one that was torn within its batch
        # leads a search to the same place, and nobody could tell.
        last_offset = min((last for last in largest if last >= segment.base_offset + relative), default=-1)
        assert largest.get(last_offset) == stamp, f"{segment}: time index entry {stamp}, {relative}"
        assert stamp > previous
        previous = stamp


def _check_epochs(log: Log, batches: list[RecordBatch]) -> None:
    for batch in batches:
        if batch.base_offset >= log.log_start_offset:
            known = log.leader_epochs.epoch_for_offset(batch.base_offset)
            assert known == batch.partition_leader_epoch, f"{log}: epoch {known} at {batch.base_offset}"


def _check_producers(log: Log, batches: list[RecordBatch]) -> None:
    """Compare the producer state with the one built from all batches in the log."""
    last: dict[int, tuple[int, int]] = {}
    opened: dict[int, int] = {}
    aborted = set()
    start = log.log_start_offset
    for batch in batches:
        if batch.producer_id < 0 or batch.last_offset < start:
            continue
        update = producer_update(batch, batch.base_offset)
        if isinstance(update, EndMarker):
            first = opened.pop(update.producer_id, None)
            if first is not None and update.is_abort:
                aborted.add((update.producer_id, first, update.offset))
        elif update is not None:
            last[update.producer_id] = (update.last_sequence, update.last_offset)
            if update.is_transactional:
                opened.setdefault(update.producer_id, update.first_offset)
    state = log.producer_state
    for producer_id, expected in last.items():
        entry = state.producers[producer_id]
        known = (entry.batches[-1].last_sequence, entry.batches[-1].last_offset)
        assert known == expected, f"{log}: producer {producer_id} has {known}, the log {expected}"
    for producer_id, entry in state.producers.items():
        assert producer_id in last or not entry.batches or entry.batches[-1].last_offset < start, f"{log}: {entry}"
    undecided = {entry.producer_id: entry.current_txn_first_offset for entry in state.producers.values()}
    undecided = {producer_id: first for producer_id, first in undecided.items() if first >= start}
    assert undecided == opened, f"{log}: open transactions {undecided}, in the log {opened}"
    indexed = log.aborted_transactions(start, log.log_end_offset)
    known_aborted = {(found.producer_id, found.first_offset, found.last_offset) for found in indexed}
    assert aborted <= known_aborted, f"{log}: aborted {known_aborted}, in the log {aborted}"
    assert all(first < start for _, first, _ in known_aborted - aborted), f"{log}: aborted {known_aborted - aborted}"
    assert state.end_offset == log.log_end_offset
    for name in os.listdir(log.directory):
        if name.endswith(".snapshot"):
            assert int(name[:20]) <= log.log_end_offset, f"{log}: {name}"
