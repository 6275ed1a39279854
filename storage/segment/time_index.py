"""The time index (`.timeindex`): the greatest timestamp so far and the offset of the batch that has it."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ...base.invariant import InvariantError
from ...protocol.records.batch import NO_TIMESTAMP
from .index_file import IndexFile


class TimestampOffset(NamedTuple):
    timestamp: int
    offset: int


class TimeIndex(IndexFile):
    """Entries of 12 bytes: timestamp in ms (int64), offset relative to the segment's base (int32)."""

    layout = struct.Struct(">qi")
    kept_free = 1  # for the entry that is added on closing the segment

    def maybe_append(self, timestamp: int, offset: int) -> bool:
        """Append when `timestamp` is above the last one; return whether it was."""
        keys, values = self._keys, self._values
        relative = offset - self.base_offset
        if keys and values:
            if relative < values[-1]:
                raise InvariantError(f"{self.path}: offset {offset} lies before the last entry")
            if timestamp < keys[-1]:
                raise InvariantError(f"{self.path}: timestamp {timestamp} lies before the last entry")
        if timestamp <= (keys[-1] if keys else NO_TIMESTAMP):
            return False
        self._append(timestamp, relative)
        return True

    def lookup(self, timestamp: int) -> TimestampOffset:
        """Return the entry with the greatest timestamp not above `timestamp`, or (-1, base offset)."""
        slot = self.slot_at_or_below(timestamp)
        return self._at(slot) if slot >= 0 else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def last(self) -> TimestampOffset:
        """Return the last entry, or (-1, base offset)."""
        count = len(self)
        return self._at(count - 1) if count else TimestampOffset(NO_TIMESTAMP, self.base_offset)

    def truncate_to(self, offset: int) -> None:
        """Remove the entries at and above `offset`."""
        relative = offset - self.base_offset
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.entry(middle)[1] < relative:
                low = middle + 1
            else:
                high = middle
        self._truncate_entries(low)

    def _at(self, slot: int) -> TimestampOffset:
        timestamp, relative = self.entry(slot)
        return TimestampOffset(timestamp, self.base_offset + relative)
