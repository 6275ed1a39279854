"""A record set that is ready to be written: it passed all checks except those against the producer state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ...base.buffer import Buffer
from ...protocol.records.batch import NO_TIMESTAMP, RecordBatch, increment_sequence
from ...protocol.records.control import read_marker
from .producer_state import DataBatch, EndMarker

NO_FIRST_OFFSET = -1


class PreparedAppend:
    """`batches` have their final offsets. `data` is the bytes of all batches, one after the other.

    `converted_records`: how many records came in another format or codec.
    """

    __slots__ = (
        "batches",
        "converted_records",
        "data",
        "first_offset",
        "last_offset",
        "log_append_time_ms",
        "max_timestamp",
        "offset_of_max",
        "producers",
        "size_bytes",
    )

    def __init__(
        self,
        data: Buffer,
        first_offset: int,
        last_offset: int,
        max_timestamp: int,
        offset_of_max: int,
        batches: Sequence[PreparedBatch],
        producers: Sequence[DataBatch | EndMarker] = (),
        log_append_time_ms: int = NO_TIMESTAMP,
    ) -> None:
        self.data = data
        self.size_bytes = len(data)
        self.first_offset = first_offset
        self.last_offset = last_offset
        self.max_timestamp = max_timestamp
        self.offset_of_max = offset_of_max
        self.batches = batches
        self.producers = producers
        self.log_append_time_ms = log_append_time_ms
        self.converted_records = 0


class PreparedBatch(NamedTuple):
    """One batch of an append. `leader_epoch` is -1 for magic 0 and 1."""

    size_bytes: int
    base_offset: int
    last_offset: int
    magic: int
    leader_epoch: int


def producer_update(batch: RecordBatch, base_offset: int) -> DataBatch | EndMarker | None:
    """Return how a batch with a producer id, stored at `base_offset`, changes the producer state.

    None for a control batch that is empty (compacted) or not a transaction marker. Raises InvalidRecordError for an
    unreadable control record.
    """
    last_offset = base_offset + batch.last_offset_delta
    if batch.is_control:
        marker = read_marker(batch)
        if marker is None:
            return None
        return EndMarker(
            batch.producer_id,
            batch.producer_epoch,
            base_offset,
            batch.max_timestamp,
            marker.coordinator_epoch,
            not marker.is_commit,
        )
    first_sequence = batch.base_sequence
    return DataBatch(
        batch.producer_id,
        batch.producer_epoch,
        first_sequence,
        first_sequence if first_sequence < 0 else increment_sequence(first_sequence, batch.last_offset_delta),
        base_offset,
        last_offset,
        batch.max_timestamp,
        batch.is_transactional,
    )
