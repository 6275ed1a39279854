"""Bringing a log's producer state to an offset: from the latest snapshot, then from the records behind it."""

from __future__ import annotations

from collections.abc import Sequence

from ..protocol.records.batch import RecordBatch
from .batch_span import read_batches
from .prepared_append import producer_update
from .producer_snapshots import ProducerSnapshots
from .producer_state import EndMarker, ProducerState
from .segment import Segment
from .transaction_index import AbortedTransaction


def apply_batch(state: ProducerState, batch: RecordBatch) -> list[AbortedTransaction]:
    """Note a batch of the log in the state; return the transaction it aborts, if it does, in a list."""
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
    *,
    after_clean_stop: bool = False,
) -> None:
    """Make `state` reflect the records before `end_offset`, and snapshot it there.

    A log that has no snapshot at all after a clean stop had no producers to speak of: it is not read.
    """
    if after_clean_stop and not snapshots.offsets:
        for offset in (*(segment.base_offset for segment in segments[-2:]), end_offset):
            state.end_offset = offset
            snapshots.take(state, sync=True)
        return
    was_empty = state.is_empty and state.end_offset >= end_offset
    snapshots.delete_outside(log_start_offset, end_offset)
    if state.end_offset != end_offset or snapshots.last_offset > end_offset:
        snapshots.load_latest(state, log_start_offset, now_ms)
        if state.end_offset < end_offset and not was_empty:
            _read_producers(state, snapshots, segments, log_start_offset, end_offset)
    state.end_offset = end_offset
    snapshots.take(state, sync=True)


def _read_producers(
    state: ProducerState,
    snapshots: ProducerSnapshots,
    segments: Sequence[Segment],
    log_start_offset: int,
    end_offset: int,
) -> None:
    """Apply the batches from the state's end on. On the way, snapshots are left at the last two segments."""
    worth_a_snapshot = {segment.base_offset for segment in segments[-2:]}
    for number, segment in enumerate(segments):
        following = segments[number + 1].base_offset if number + 1 < len(segments) else end_offset
        if following <= state.end_offset or segment.base_offset >= end_offset:
            continue
        start = max(segment.base_offset, state.end_offset, log_start_offset)
        state.end_offset = start
        if segment.base_offset in worth_a_snapshot and start == segment.base_offset:
            snapshots.take(state, sync=True)
        end_position = segment.position_of(end_offset, segment.size_bytes)
        position = segment.position_of(start, segment.size_bytes)
        for _, batch in read_batches(segment.log_ref.file(), position, end_position):
            apply_batch(state, batch)
