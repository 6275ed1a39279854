"""The in-flight records of a share partition, kept as runs: neighbours that share a state.

The runs are in order and leave no gap, so the records from the first run to the last are all of those in flight.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from operator import attrgetter
from typing import NamedTuple, TypeVar

from ...base.frozen import frozen
from ..coordinator.share.state_batch import StateBatch

__all__ = ["Change", "OffsetSpan", "RecordRuns", "RecordState", "Run"]


class OffsetSpan(NamedTuple):
    """Offsets from ``first`` to ``last``, both included."""

    first: int
    last: int


class RecordState(IntEnum):
    """The delivery state of a record, with the numbers under which it is stored."""

    AVAILABLE = 0
    ACQUIRED = 1
    """A member holds the lock. This state is never stored."""
    ACKNOWLEDGED = 2
    ARCHIVED = 4
    """Nobody gets the record any more: rejected, delivered too often, or not there."""

    @property
    def is_terminal(self) -> bool:
        return self is RecordState.ACKNOWLEDGED or self is RecordState.ARCHIVED


@frozen(eq=False)
class Change:
    """A change of records that is stored before it is true; `SharePartition.finish` takes it back or makes it so."""

    batches: tuple[StateBatch, ...]


@dataclass(slots=True)
class Run:
    """Records from ``first`` to ``last`` of one state. ``deadline_ms``: when the lock of acquired records ends.

    ``change``: what is being stored; the state is ``next_state`` then. Until then nobody can take or acknowledge them.
    """

    first: int
    last: int
    state: RecordState
    delivery_count: int = 0
    member_id: str = ""
    deadline_ms: int = 0
    change: Change | None = None
    next_state: RecordState | None = None

    @property
    def count(self) -> int:
        return self.last - self.first + 1

    @property
    def is_acquirable(self) -> bool:
        return self.state is RecordState.AVAILABLE and self.change is None

    @property
    def is_settled(self) -> bool:
        """Whether nothing will happen to the records any more."""
        return self.state.is_terminal and self.change is None

    def is_held_by(self, member_id: str) -> bool:
        return self.state is RecordState.ACQUIRED and self.change is None and self.member_id == member_id

    def set_free(self, state: RecordState) -> None:
        """The records are no longer acquired."""
        self.state, self.member_id, self.deadline_ms = state, "", 0

    def cut_head(self, offset: int) -> "Run":
        """A run of the records below ``offset``, which do not belong to this run any more."""
        last, count, change, state = offset - 1, self.delivery_count, self.change, self.next_state
        head = Run(self.first, last, self.state, count, self.member_id, self.deadline_ms, change, state)
        self.first = offset
        return head

    def continues(self, before: "Run") -> bool:
        """Whether this run and the one ``before`` can be one run."""
        if self.state is not before.state or self.change is not None or before.change is not None:
            return False
        if self.state.is_terminal:
            return True
        has_same_lock = (self.member_id, self.deadline_ms) == (before.member_id, before.deadline_ms)
        return has_same_lock and self.delivery_count == before.delivery_count


_FIRST = attrgetter("first")
T = TypeVar("T")


class RecordRuns:
    """The runs, from the first offset that is not settled to the end of what was acquired."""

    __slots__ = ("_runs",)

    def __init__(self) -> None:
        self._runs: list[Run] = []

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def append(self, run: Run) -> None:
        """Add a run that begins where the last one ends."""
        self._runs.append(run)

    def overlapping(self, first: int, last: int) -> list[Run]:
        """The runs with an offset from ``first`` to ``last``."""
        if first > last:
            return []
        begin = max(bisect_right(self._runs, first, key=_FIRST) - 1, 0)
        end = bisect_right(self._runs, last, key=_FIRST)
        return [run for run in self._runs[begin:end] if run.last >= first]

    def between(self, first: int, last: int) -> list[Run]:
        """The runs of exactly the offsets from ``first`` to ``last``; runs that go beyond are cut in two."""
        if first > last:
            return []
        self._cut(first)
        self._cut(last + 1)
        return self.overlapping(first, last)

    def pieces(self, parts: Iterable[tuple[int, int, T]]) -> list[tuple[Run, T]]:
        """The runs of exactly the offsets of these parts, each with the value of its part, cut in one pass.

        ``parts``: first offset, last offset and value, in order and in flight."""
        runs, kept, found = self._runs, list[Run](), list[tuple[Run, T]]()
        begin = index = -1
        for first, last, value in parts:
            if begin < 0:
                begin = index = bisect_right(runs, first, key=_FIRST) - 1
            while (run := runs[index]).last < first:
                kept.append(run)
                index += 1
            if run.first < first:
                kept.append(run.cut_head(first))
            while run.last <= last:
                kept.append(run)
                found.append((run, value))
                index += 1
                if run.last == last:
                    break
                run = runs[index]
            else:
                kept.append(head := run.cut_head(last + 1))
                found.append((head, value))
        self._runs[begin:index] = kept
        return found

    def drop_settled(self) -> int | None:
        """Forget the settled records at the beginning; the offset behind them, or None when there are none."""
        count = 0
        for run in self._runs:
            if not run.is_settled:
                break
            count += 1
        if not count:
            return None
        end = self._runs[count - 1].last + 1
        del self._runs[:count]
        return end

    def drop_below(self, offset: int) -> None:
        """Forget all records below ``offset``, whatever their state is."""
        self._cut(offset)
        del self._runs[: bisect_right(self._runs, offset - 1, key=_FIRST)]

    def join(self) -> None:
        """Make one run of neighbours that need not be two."""
        joined: list[Run] = []
        for run in self._runs:
            if joined and run.continues(joined[-1]):
                joined[-1].last = run.last
            else:
                joined.append(run)
        self._runs = joined

    def _cut(self, offset: int) -> None:
        """Let a run begin at ``offset``, if it is inside of one."""
        index = bisect_right(self._runs, offset, key=_FIRST) - 1
        run = self._runs[index] if index >= 0 else None
        if run is not None and run.first < offset <= run.last:
            self._runs.insert(index + 1, replace(run, first=offset))
            run.last = offset - 1
