"""The offset index (`.index`): every `index.interval.bytes`, an append's last offset and its position in the `.log`."""

from __future__ import annotations

import struct
from typing import NamedTuple

from ...base.invariant import InvariantError
from .index_file import IndexFile

MAX_RELATIVE_OFFSET = (1 << 31) - 1


class OffsetPosition(NamedTuple):
    offset: int
    position: int


class OffsetIndex(IndexFile):
    """Entries of 8 bytes: offset relative to the segment's base (int32), position (int32)."""

    layout = struct.Struct(">ii")

    def append(self, offset: int, position: int) -> None:
        relative = offset - self.base_offset
        keys = self._keys
        if keys and relative <= keys[-1]:
            raise InvariantError(f"{self.path}: offset {offset} does not follow the last entry")
        self._append(relative, position)

    def lookup(self, offset: int, *, cached_only: bool = False) -> OffsetPosition:
        """Return the entry with the greatest offset not above `offset`, or the segment's start without one.

        With `cached_only` raises NotCachedError instead of waiting for the disk.
        """
        slot = self.slot_at_or_below(offset - self.base_offset, cached_only=cached_only)
        return self._at(slot) if slot >= 0 else OffsetPosition(self.base_offset, 0)

    def upper_bound(self, position: int) -> OffsetPosition | None:
        """Return the first entry at or after `position`, or None (Kafka's fetchUpperBoundOffset)."""
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.entry(middle)[1] < position:
                low = middle + 1
            else:
                high = middle
        return self._at(low) if low < len(self) else None

    def last(self) -> OffsetPosition:
        """Return the last entry, or the segment's start without one."""
        count = len(self)
        return self._at(count - 1) if count else OffsetPosition(self.base_offset, 0)

    def truncate_to(self, offset: int) -> None:
        """Remove the entries at and above `offset`."""
        self._truncate_entries(self.slot_at_or_below(offset - self.base_offset - 1) + 1)

    def _at(self, slot: int) -> OffsetPosition:
        relative, position = self.entry(slot)
        return OffsetPosition(self.base_offset + relative, position)
