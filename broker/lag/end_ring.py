"""Where a partition ended at which times: the age of an offset without reading the partition. Pure.

**How.** Samples come at intervals. A full ring drops every second sample of its older half, so that it reaches back far
and is precise where it matters.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right

__all__ = ["EndRing"]

_MAX_SAMPLES = 64


class EndRing:
    """Samples of one partition's end, which never falls; if it does (the topic was created again), the ring restarts.

    Times are in milliseconds of a clock that does not go back.
    """

    __slots__ = ("_ends", "_times")

    def __init__(self) -> None:
        self._times = array("q")
        self._ends = array("q")

    def add(self, at_ms: int, end: int) -> None:
        """The partition ended at ``end`` at this time."""
        ends, times = self._ends, self._times
        if ends and end < ends[-1]:
            del ends[:], times[:]
        if len(ends) >= 2 and ends[-2] == ends[-1] == end:
            times[-1] = at_ms  # the end stood still from the first of the two samples to the second
            return
        if len(ends) == _MAX_SAMPLES:
            half = _MAX_SAMPLES // 2
            del ends[1:half:2], times[1:half:2]
        ends.append(end)
        times.append(at_ms)

    @property
    def last_end(self) -> int | None:
        """The end in the last sample; None before the first."""
        return self._ends[-1] if self._ends else None

    @property
    def last_ms(self) -> int | None:
        """The time of the last sample; None before the first."""
        return self._times[-1] if self._times else None

    def written_ms(self, offset: int) -> int | None:
        """About when the record at ``offset`` was written; None when it is not written yet or nothing is known.

        Between two samples the time is interpolated. A record from before the first sample gets that sample's time, so
        its age is a lower bound.
        """
        slot = bisect_right(self._ends, offset)
        if slot == len(self._ends):
            return None
        if slot == 0:
            return self._times[0]
        before, after = self._ends[slot - 1], self._ends[slot]
        from_ms, to_ms = self._times[slot - 1], self._times[slot]
        return from_ms + (to_ms - from_ms) * (offset + 1 - before) // (after - before)
