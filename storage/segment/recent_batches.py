"""Where the last batches of the active segment lie, so that a fetch at the log's end scans nothing."""

from __future__ import annotations

from array import array
from bisect import bisect_right

_KEEP = 512


class RecentBatches:
    """Base offset and position of up to 1,024 batches, without a gap, the last one the file's last.

    One thread appends while others look up: an entry is added whole before the end that a reader knows moves past it.
    """

    __slots__ = ("_arrays",)

    def __init__(self) -> None:
        self._arrays: tuple[array[int], array[int]] = (array("q"), array("q"))

    def add(self, base_offset: int, position: int) -> None:
        base_offsets, positions = self._arrays
        if len(base_offsets) >= 2 * _KEEP:
            base_offsets, positions = self._arrays = (base_offsets[_KEEP:], positions[_KEEP:])
        positions.append(position)
        base_offsets.append(base_offset)

    def end(self, next_offset: int, end_position: int) -> None:
        """The segment is closed: batches from `next_offset` on are in other segments."""
        self.add(next_offset, end_position)

    def locate(self, offset: int, end_position: int) -> tuple[int, int] | None:
        """(position, size in bytes) of the batch that holds `offset`, or None when it is not among these.

        `offset` lies before the log's end, and `end_position` is where that end is in the file.
        """
        base_offsets, positions = self._arrays
        slot = bisect_right(base_offsets, offset) - 1
        if slot < 0:
            return None
        position = positions[slot]
        if position >= end_position:
            return None
        following = slot + 1
        end = positions[following] if following < len(base_offsets) else end_position
        return position, min(end, end_position) - position
