"""Deadlines of parked operations over one timer of the loop."""

from typing import Any, Generic, Protocol, TypeVar

from ...base.timers import Scheduler
from .operation_heap import OperationHeap, ParkedOperation

__all__ = ["Timer"]

_GRANULARITY_S = 0.001
"""uvloop's timers count whole milliseconds and may fire half of one early: a deadline within one is due."""


class Expiring(ParkedOperation, Protocol):
    def expire(self) -> None: ...


ExpiringT = TypeVar("ExpiringT", bound=Expiring)


class Timer(Generic[ExpiringT]):
    """Calls ``expire()`` of operations at their deadlines, unless they were completed before.

    The loop has one timer for all operations, set to the first deadline. It is not moved when that operation completes
    early: one needless wake-up is cheaper than cancelling each time.
    """

    __slots__ = ("_armed_for", "_handle", "_heap", "_loop")

    def __init__(self, loop: Scheduler) -> None:
        self._loop = loop
        self._heap: OperationHeap[ExpiringT] = OperationHeap()
        self._handle: Any = None
        self._armed_for = float("inf")

    def __len__(self) -> int:
        return len(self._heap)

    def add(self, operation: ExpiringT, delay_ms: float) -> None:
        deadline = self._loop.time() + delay_ms / 1000
        self._heap.push(deadline, operation)
        if deadline < self._armed_for:
            self._arm(deadline)

    def one_finished(self) -> None:
        """An operation with a deadline here was completed."""
        self._heap.one_finished()

    def close(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            self._armed_for = float("inf")

    def _arm(self, deadline: float) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._armed_for = deadline
        self._handle = self._loop.call_at(deadline, self._fire)

    def _fire(self) -> None:
        self._handle = None
        self._armed_for = float("inf")
        for operation in self._heap.pop_up_to(self._loop.time() + _GRANULARITY_S):
            if not operation.is_completed:  # an operation expired before it may have completed this one
                operation.expire()
        following = self._heap.lowest_rank()
        if following is not None and following < self._armed_for:
            self._arm(following)
