"""The last commits of a group for each partition: offsets, times, and where the partition ended at that time.

**Why.** They tell whether the group keeps up (the verdicts of ``broker/lag/``).

**How.** At most ten commits a partition, in an array. Of commits that come within a second only the last is kept, so
that the ten cover some time; a commit that went back is always kept. `GroupOffsets` notes each offset that takes
effect, also those of transactions and resets. Offsets that were read from the log have no history.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import Any

from ....base.lag_verdicts import UNKNOWN_END
from ....base.topic_partition import TopicPartition
from .history_memory import HistoryMemory

__all__ = ["CommitClock", "CommitHistories", "CommitHistory", "Trend"]

_COMMITS = 10
_FIELDS = 3
_MIN_DISTANCE_MS = 1_000
_HISTORY_BYTES = 500

Trend = tuple[Any, float | None, float, float]
"""The reader's conclusion from the commits: its verdict, and by how many records a second the lag becomes less.

Then, in seconds, the time of the last commit, and the time between the oldest commit that is kept and the last one."""


class CommitHistory:
    """The commits of one partition, the oldest first. ``trend``: kept for its reader until the next commit."""

    __slots__ = ("_entries", "trend")

    def __init__(self) -> None:
        self._entries = array("q")
        self.trend: Trend | None = None

    def add(self, at_ms: int, offset: int, end: int) -> None:
        """``at_ms``: of a monotonic clock. ``end``: the high watermark at that time, or `UNKNOWN_END`."""
        self.trend = None
        entries = self._entries
        length = len(entries)
        if length >= 2 * _FIELDS and at_ms - entries[-6] < _MIN_DISTANCE_MS and entries[-5] <= entries[-2] <= offset:
            del entries[-_FIELDS:]
        elif length == _COMMITS * _FIELDS:
            del entries[:_FIELDS]
        entries.extend((at_ms, offset, end))

    def columns(self) -> tuple[list[int], list[int], list[int]]:
        """The times in milliseconds, the offsets, and the ends."""
        entries = self._entries.tolist()
        return entries[::_FIELDS], entries[1::_FIELDS], entries[2::_FIELDS]


class CommitClock:
    """Tells histories the time and a partition's end. ``end_of``: its high watermark, or `UNKNOWN_END`."""

    __slots__ = ("end_of", "memory", "now_s")

    def __init__(self, memory: HistoryMemory, now_s: Callable[[], float]) -> None:
        self.memory = memory
        self.now_s = now_s
        self.end_of: Callable[[TopicPartition], int] = _unknown_end


class CommitHistories:
    """The histories of one group. ``by_partition`` has no partition without a commit since this broker coordinates."""

    __slots__ = ("_clock", "by_partition")

    def __init__(self, clock: CommitClock) -> None:
        self._clock = clock
        self.by_partition: dict[TopicPartition, CommitHistory] = {}

    def note(self, partition: TopicPartition, offset: int) -> None:
        """The offset was committed and takes effect now."""
        clock = self._clock
        history = self.by_partition.get(partition)
        if history is None:
            if not clock.memory.reserve(_HISTORY_BYTES):
                return
            history = self.by_partition[partition] = CommitHistory()
        history.add(int(clock.now_s() * 1000), offset, clock.end_of(partition))

    def forget(self, partition: TopicPartition) -> None:
        """The offset was deleted."""
        if self.by_partition.pop(partition, None) is not None:
            self._clock.memory.release(_HISTORY_BYTES)

    def clear(self) -> None:
        """Forget all, and give back the memory."""
        self._clock.memory.release(_HISTORY_BYTES * len(self.by_partition))
        self.by_partition.clear()


def _unknown_end(partition: TopicPartition) -> int:
    return UNKNOWN_END
