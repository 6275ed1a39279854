"""Rebuild of a log's producer state at an offset: from the latest snapshot and the records after it."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ...protocol.errors import CorruptRecordError
from ...protocol.records.batch import RecordBatch
from ..segment.batch_span import read_batches
from ..segment.segment import Segment
from ..segment.transaction_index import AbortedTransaction
from .prepared_append import producer_update
from .producer_snapshots import ProducerSnapshots
from .producer_state import DataBatch, EndMarker, ProducerState

logger = logging.getLogger(__name__)

_BYTES_UNDER_WAY = 4 << 20
"""Most bytes that clients may have in flight to one partition when a broker dies."""


def apply_batch(state: ProducerState, batch: RecordBatch) -> list[AbortedTransaction]:
    """Apply a batch of the log to the state; return a list with the transaction it aborts, if any."""
    aborted: list[AbortedTransaction] = []
    if batch.producer_id >= 0:
        update = producer_update(batch, batch.base_offset)
        if isinstance(update, EndMarker):
            aborted = state.aborted_by((update,))
            state.apply_marker(update)
        elif update is not None:
            state.apply_batch(update)
    state.end_offset = batch.last_offset + 1
    return aborted


def rebuild_producer_state(
    state: ProducerState,
    snapshots: ProducerSnapshots,
    segments: Sequence[Segment],
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
) -> None:
    """Make `state` reflect the records before `end_offset`, and snapshot it there. Raises OSError, CorruptRecordError.

    Without a snapshot the whole log is read, also after a clean stop, which should have left one at the log's end.
    (Kafka then assumes a log from a version without producer state, and forgets the producers.)
    """
    was_empty = state.is_empty and state.end_offset >= end_offset
    snapshots.delete_outside(log_start_offset, end_offset)
    if state.end_offset != end_offset or snapshots.last_offset > end_offset:
        snapshots.load_latest(state, log_start_offset, now_ms)
        if state.end_offset < end_offset and not was_empty:
            read_producers(state, snapshots, segments, log_start_offset, end_offset)
    state.end_offset = end_offset
    snapshots.take_if_there_is_space(state)


def recall_last_batches(state: ProducerState, segments: Sequence[Segment]) -> None:
    """Restore the batches of producers before their last one, which a snapshot does not hold (Kafka does not do this).

    Why: a client with several requests in flight when the broker was killed repeats them all. Without this, only the
    last stored batch would be known as a duplicate. The others would be refused with OUT_OF_ORDER_SEQUENCE_NUMBER, and
    an idempotent producer then gives up. The batches are searched in the last 4 MiB before the state's end.
    """
    if not state.producers:
        return
    recent = ProducerState(state.topic_partition, state.expiration_ms)
    try:
        for segment, start in _last_bytes(segments, _BYTES_UNDER_WAY):
            for _, batch in read_batches(segment.log_ref.file(), start, segment.size_bytes):
                update = producer_update(batch, batch.base_offset) if batch.producer_id >= 0 else None
                if isinstance(update, DataBatch):
                    recent.apply_batch(update)
    except CorruptRecordError as error:  # below the recovery point, where a start does not search for damage
        logger.warning(
            "%s: the last batches of its producers cannot be restored, repeated batches may be refused: %s",
            state.topic_partition,
            error,
        )
        return
    for producer_id, entry in state.producers.items():
        found = recent.producers.get(producer_id)
        if found is None or not entry.batches or found.producer_epoch != entry.producer_epoch:
            continue
        if found.batches[-1].last_offset == entry.batches[-1].last_offset:
            # The last batch stays as it is: the snapshot has the time of the producer's last activity in it.
            found.batches[-1] = entry.batches[-1]
            entry.batches = found.batches


def _last_bytes(segments: Sequence[Segment], size_bytes: int) -> list[tuple[Segment, int]]:
    """Return the segments with the last `size_bytes` of the log, each with the position of the first batch to read."""
    holders: list[tuple[Segment, int]] = []
    for segment in reversed(segments):
        if size_bytes <= 0:
            break
        surplus = segment.size_bytes - size_bytes
        start = segment.offset_index.upper_bound(surplus) if surplus > 0 else None
        holders.insert(0, (segment, 0 if surplus <= 0 else (start or segment.offset_index.last()).position))
        size_bytes -= segment.size_bytes
    return holders


def read_producers(
    state: ProducerState,
    snapshots: ProducerSnapshots | None,
    segments: Sequence[Segment],
    log_start_offset: int,
    end_offset: int,
) -> None:
    """Apply the batches after the state's end. Snapshots are written at the bases of the last two segments."""
    worth_a_snapshot = {segment.base_offset for segment in segments[-2:]}
    for number, segment in enumerate(segments):
        following = segments[number + 1].base_offset if number + 1 < len(segments) else end_offset
        if following <= state.end_offset or segment.base_offset >= end_offset:
            continue
        start = max(segment.base_offset, state.end_offset, log_start_offset)
        state.end_offset = start
        if snapshots is not None and segment.base_offset in worth_a_snapshot and start == segment.base_offset:
            snapshots.take_if_there_is_space(state)
        end_position = segment.position_of(end_offset, segment.size_bytes)
        position = segment.position_of(start, segment.size_bytes)
        for _, batch in read_batches(segment.log_ref.file(), position, end_position):
            apply_batch(state, batch)
