"""The times of one partition's batches, found by any offset in them. Pure.

**Why.** Many groups read the same batch, each at its own offset; the header of the batch is read once for all of them.
"""

from array import array
from bisect import bisect_left

__all__ = ["BatchTime", "BatchTimes"]

BatchTime = tuple[int, int, int]
"""The first and the last offset of a batch, and the time in milliseconds when its first record was written."""


class BatchTimes:
    """Batches that do not overlap, in the order of their offsets."""

    __slots__ = ("_firsts", "_lasts", "_written_ms")

    def __init__(self) -> None:
        self._firsts = array("q")
        self._lasts = array("q")
        self._written_ms = array("q")

    def add(self, batch: BatchTime) -> None:
        """Remember a batch. A batch that overlaps a known one is left out."""
        first, last, written_ms = batch
        slot = bisect_left(self._lasts, first)
        if first <= last and (slot == len(self._lasts) or last < self._firsts[slot]):
            self._firsts.insert(slot, first)
            self._lasts.insert(slot, last)
            self._written_ms.insert(slot, written_ms)

    def of(self, offset: int) -> BatchTime | None:
        """The batch that has the offset; None when it is not known."""
        slot = bisect_left(self._lasts, offset)
        if slot == len(self._lasts) or offset < self._firsts[slot]:
            return None
        return self._firsts[slot], self._lasts[slot], self._written_ms[slot]
