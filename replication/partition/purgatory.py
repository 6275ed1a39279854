"""Requests that wait: produces for the high watermark, fetches for data or for their time to be up.

Everything here is on the loop. An operation is completed exactly once, by what it waits for, by an error that makes
waiting pointless (leadership lost, partition deleted), or by its deadline. It is watched at the partitions it
concerns, so an append wakes nobody else, and a partition without waiters costs one truth test.

A fetch that has enough is completed in the loop's next turn, behind all that this turn has read: the producer's answer
does not wait for it, and what several producers send at the same time is one answer. Of many such fetches a turn
completes some: everybody else's requests do not wait behind all of them. Where many consumers wait for a partition, the
answers that it causes gather for a moment (`answer_pace`); those to followers never do, for produces wait for them.

A fetch that wants more than one append brings is patient from when an append was not enough for it: later ones do not
look at it, they only have it looked at in its turn (`patient_fetches`). Else each append to a partition would cost its
producer a look at all who wait there for megabytes.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from ...protocol.errors import ErrorCode
from ...storage.workers.callbacks import call_isolated
from .answer_pace import FEW, AnswerPace
from .delayed_fetch import DelayedFetch, FetchWatchers, IsEnough
from .fetch import FetchParams
from .isolation import Isolation
from .operation_heap import OperationHeap
from .patient_fetches import PatientFetches
from .timer import Timer, TimerLoop

__all__ = ["COMPLETED_IN_A_TURN", "AppendPurgatory", "DelayedAppend", "FetchPurgatory"]

COMPLETED_IN_A_TURN = 32
"""Fetches that had enough: some 15 microseconds each, so half a millisecond."""


class DelayedAppend:
    """An append with acks=-1 that waits until the HW reaches its end."""

    __slots__ = ("_done", "_waiting", "is_completed", "required_offset")

    def __init__(
        self, required_offset: int, waiting: "OperationHeap[DelayedAppend]", done: Callable[[ErrorCode], None]
    ) -> None:
        self.required_offset = required_offset
        self.is_completed = False
        self._waiting = waiting
        self._done = done

    def complete(self, error: ErrorCode) -> None:
        if not self.is_completed:
            self.is_completed = True
            call_isolated(self._done, error)

    def expire(self) -> None:
        self._waiting.one_died()
        self.complete(ErrorCode.REQUEST_TIMED_OUT)


class AppendPurgatory:
    """All delayed appends of a broker."""

    def __init__(self, loop: TimerLoop) -> None:
        self._timer: Timer[DelayedAppend] = Timer(loop)

    def __len__(self) -> int:
        return len(self._timer)

    def park(
        self,
        waiting: OperationHeap[DelayedAppend],
        required_offset: int,
        timeout_ms: int,
        done: Callable[[ErrorCode], None],
    ) -> None:
        """Call ``done`` when the HW reaches ``required_offset`` (see `advance`) or with REQUEST_TIMED_OUT."""
        operation = DelayedAppend(required_offset, waiting, done)
        waiting.push(required_offset, operation)
        self._timer.add(operation, max(timeout_ms, 0))

    def advance(
        self,
        waiting: OperationHeap[DelayedAppend],
        high_watermark: int,
        verdict: Callable[[int], ErrorCode | None],
    ) -> None:
        """The HW moved: complete the appends it has reached with what ``verdict`` says of their required offset."""
        for operation in waiting.pop_up_to(high_watermark):
            self._timer.one_died()
            operation.complete(verdict(operation.required_offset) or ErrorCode.NONE)

    def fail_all(self, waiting: OperationHeap[DelayedAppend], error: ErrorCode) -> None:
        """Waiting became pointless."""
        for operation in waiting.pop_all():
            self._timer.one_died()
            operation.complete(error)

    def close(self) -> None:
        self._timer.close()


class FetchPurgatory:
    """All delayed fetches of a broker."""

    def __init__(self, loop: TimerLoop, pace: AnswerPace | None = None) -> None:
        self._loop = loop
        self._timer: Timer[DelayedFetch] = Timer(loop)
        self._pace = pace if pace is not None else AnswerPace()
        self._patient = PatientFetches(loop, self._enough_for_patient)
        self._due: deque[DelayedFetch] = deque()
        self._gathered: dict[float, tuple[Any, list[DelayedFetch]]] = {}  # by the end of their pause; the loop's timer

    def __len__(self) -> int:
        return len(self._timer)

    def is_paused(self, watchers: FetchWatchers) -> bool:
        """Many consumers of this partition were just answered, and are not to be for a moment."""
        return self._pace.is_paused(watchers.paused_until_s, self._loop.time())

    def delayed_fetch(self, params: FetchParams, finish: Callable[[], None]) -> DelayedFetch:
        """A fetch to park: `DelayedFetch.watch` its partitions, then `park`. ``finish`` is called once, at the end."""
        return DelayedFetch(params, self._timer, finish)

    def park(self, operation: DelayedFetch) -> None:
        self._timer.add(operation, operation.params.max_wait_ms)

    def wake(self, watchers: FetchWatchers, is_enough: IsEnough) -> None:
        """The partition of ``watchers`` changed: the fetches for which that ``is_enough`` are completed soon."""
        if watchers.patient:
            watchers.changes += 1
            self._patient.changed(watchers, is_enough)
        is_paused = self.is_paused(watchers)
        enough: list[DelayedFetch] = []
        wanting: list[DelayedFetch] = []
        for operation, fetch in watchers.eager.items():
            if operation.is_due or (is_paused and operation.is_gathering):
                continue
            (enough if is_enough(operation, fetch) else wanting).append(operation)
        for operation in wanting:
            watchers.was_not_enough(operation, watchers.eager[operation])
        if enough:
            self._complete_or_gather(watchers, enough)

    def _enough_for_patient(self, watchers: FetchWatchers, operation: DelayedFetch) -> None:
        if not operation.is_due and not operation.is_gathering:
            self._complete_or_gather(watchers, [operation])

    def _complete_or_gather(self, watchers: FetchWatchers, operations: list[DelayedFetch]) -> None:
        if self.is_paused(watchers):
            self.gather(operations, watchers.paused_until_s)
        else:
            self._complete_soon(operations)

    def gather(self, operations: list[DelayedFetch], until_s: float) -> None:
        """They have enough, and are completed when the pause of a partition ends."""
        for operation in operations:
            operation.is_gathering = True
        found = self._gathered.get(until_s)
        if found is None:
            self._gathered[until_s] = self._loop.call_at(until_s, self._end_pause, until_s), operations
        else:
            found[1].extend(operations)

    def _end_pause(self, until_s: float) -> None:
        self._complete_soon(self._gathered.pop(until_s)[1])

    def _complete_soon(self, operations: list[DelayedFetch]) -> None:
        if not self._due:
            self._loop.call_soon(self._complete_due)
        for operation in operations:
            operation.is_due = True
        self._due += operations

    def _complete_due(self) -> None:
        due = self._due
        pause_s = self._pace.pause_s(len(due))
        counted: list[FetchWatchers] = []
        for _ in range(min(len(due), COMPLETED_IN_A_TURN)):
            operation = due.popleft()
            if not operation.is_completed:
                if pause_s and operation.params.isolation is not Isolation.LOG_END:
                    counted += operation.count_answer()
                operation.complete()
        if counted:
            self._pause(counted, pause_s)
        if due:
            self._loop.call_soon(self._complete_due)

    def _pause(self, counted: list[FetchWatchers], pause_s: float) -> None:
        """Those of which many were answered in this turn."""
        until_s = self._loop.time() + pause_s
        for watchers in counted:
            if watchers.answered > FEW:
                watchers.paused_until_s = until_s
            watchers.answered = 0

    def complete_all(self, watchers: FetchWatchers) -> None:
        """Waiting became pointless: the answers will say why."""
        for operation in tuple(watchers):
            operation.complete()

    def close(self) -> None:
        self._patient.close()
        self._due.clear()
        for timer, _ in self._gathered.values():
            timer.cancel()
        self._gathered.clear()
        self._timer.close()
