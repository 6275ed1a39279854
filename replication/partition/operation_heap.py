"""A heap of parked operations that drops finished ones without searching for them.

Why: an operation is often finished from elsewhere (its offset was reached, its time was up), and removing it from a
heap is a linear search. Parked produces with 30 s timeouts that finish in a millisecond need better.
How: a finished operation stays, flagged. The heap is rebuilt when more than half of it is finished: O(1) amortised, and
at most twice the memory of the unfinished operations.
"""

from heapq import heapify, heappop, heappush
from typing import Generic, Protocol, TypeVar

__all__ = ["OperationHeap", "ParkedOperation"]

_FEW = 64


class ParkedOperation(Protocol):
    """A parked operation, finished exactly once."""

    is_completed: bool


OperationT = TypeVar("OperationT", bound=ParkedOperation)


class OperationHeap(Generic[OperationT]):
    """Operations by rank (a deadline, an offset); equal ranks in order of arrival."""

    __slots__ = ("_arrivals", "_entries", "_finished")

    def __init__(self) -> None:
        self._entries: list[tuple[float, int, OperationT]] = []
        self._arrivals = 0
        self._finished = 0

    def __len__(self) -> int:
        return len(self._entries) - self._finished

    def push(self, rank: float, operation: OperationT) -> None:
        self._arrivals += 1
        heappush(self._entries, (rank, self._arrivals, operation))

    def pop_up_to(self, rank: float) -> list[OperationT]:
        """Take out the unfinished operations with at most this rank, lowest first."""
        entries = self._entries
        due: list[OperationT] = []
        while entries and entries[0][0] <= rank:
            operation = heappop(entries)[2]
            if operation.is_completed:
                self._finished -= 1
            else:
                due.append(operation)
        return due

    def pop_all(self) -> list[OperationT]:
        """Take out all unfinished operations, lowest rank first."""
        due = [operation for _, _, operation in sorted(self._entries) if not operation.is_completed]
        self._entries.clear()
        self._finished = 0
        return due

    def lowest_rank(self) -> float | None:
        """The lowest rank; its operation may be finished already."""
        return self._entries[0][0] if self._entries else None

    def one_finished(self) -> None:
        """An operation of this heap was completed from elsewhere."""
        self._finished += 1
        if self._finished > _FEW and self._finished * 2 > len(self._entries):
            self._entries = [entry for entry in self._entries if not entry[2].is_completed]
            heapify(self._entries)
            self._finished = 0
