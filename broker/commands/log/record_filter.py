"""Selects batches and records of a log by offset, time and key."""

from __future__ import annotations

from ....base.frozen import frozen
from ....protocol.records.batch import RecordBatch, TimestampType
from ....protocol.records.record import Record

_MAX_INT64 = (1 << 63) - 1


@frozen
class RecordFilter:
    """A record is selected when it meets all bounds; ranges include both ends.

    Attributes:
        first_offset, last_offset: bounds of the records' offsets.
        first_ms, last_ms: bounds of the records' timestamps; with either, records without a timestamp are left out.
        key: the records' key; in an internal topic the group or transactional id within the key.
    """

    first_offset: int = 0
    last_offset: int = _MAX_INT64
    first_ms: int | None = None
    last_ms: int | None = None
    key: bytes | None = None

    @property
    def is_everything(self) -> bool:
        return self == EVERYTHING

    @property
    def needs_records(self) -> bool:
        """Whether the batch's header alone cannot decide, so that its records must be read."""
        return self.first_ms is not None or self.last_ms is not None or self.key is not None

    def covers_offsets(self, first_offset: int, last_offset: int) -> bool:
        """Whether some offset in [first_offset, last_offset] is selected."""
        return first_offset <= self.last_offset and last_offset >= self.first_offset

    def covers_time(self, timestamp: int) -> bool:
        if self.first_ms is None and self.last_ms is None:
            return True
        first = 0 if self.first_ms is None else self.first_ms
        return timestamp >= max(first, 0) and (self.last_ms is None or timestamp <= self.last_ms)

    def may_be_in(self, batch: RecordBatch, first_offset: int) -> bool:
        """Whether the batch may hold selected records. `first_offset`: the lowest offset it can have, of any magic."""
        if not self.covers_offsets(first_offset, batch.last_offset):
            return False
        if self.first_ms is not None and batch.max_timestamp < self.first_ms:
            return False
        if batch.timestamp_type is TimestampType.LOG_APPEND_TIME:
            return self.covers_time(batch.max_timestamp)
        return True

    def accepts(self, record: Record, name: str | None = None) -> bool:
        """Whether the record is selected; `name` is the group or transactional id within its key."""
        return (
            self.first_offset <= record.offset <= self.last_offset
            and self.covers_time(record.timestamp_ms)
            and (self.key is None or record.key == self.key or (name is not None and name.encode() == self.key))
        )


EVERYTHING = RecordFilter()
