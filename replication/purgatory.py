"""Requests that wait: produces for the high watermark, fetches for data or for their time to be up.

Everything here is on the loop. An operation is completed exactly once, by what it waits for, by an error that makes
waiting pointless (leadership lost, partition deleted), or by its deadline. It is watched at the partitions it
concerns, so an append wakes nobody else, and a partition without waiters costs one truth test.

A fetch that has enough is completed in the loop's next turn, behind all that this turn has read: the producer's answer
does not wait for it, and what several producers send at the same time is one answer. Of many such fetches a turn
completes some: everybody else's requests do not wait behind all of them. Where consumers are many, their answers gather
for a moment (`answer_pace`); those of followers never do, for produces wait for them.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from ..protocol.errors import ErrorCode
from .answer_pace import AnswerPace
from .fetch import FetchParams, PartitionFetch
from .operation_heap import OperationHeap
from .timer import Timer, TimerLoop

__all__ = ["COMPLETED_IN_A_TURN", "AppendPurgatory", "DelayedAppend", "DelayedFetch", "FetchPurgatory", "FetchWatchers"]

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
            self._done(error)

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


class DelayedFetch:
    """A fetch that found less than min bytes. ``available_bytes`` is what its partitions have for it by now."""

    __slots__ = (
        "_by_partition",
        "_finish",
        "_timer",
        "_watched_at",
        "available_bytes",
        "is_completed",
        "is_due",
        "params",
    )

    def __init__(self, params: FetchParams, timer: "Timer[DelayedFetch]", finish: Callable[[], None]) -> None:
        self.params = params
        self.available_bytes = 0
        self.is_completed = False
        self.is_due = False
        self._by_partition: dict[PartitionFetch, int] = {}
        self._watched_at: list[FetchWatchers] = []
        self._timer = timer
        self._finish = finish

    def watch(self, watchers: "FetchWatchers", fetch: PartitionFetch) -> None:
        watchers[self] = fetch
        self._watched_at.append(watchers)

    def note_available(self, fetch: PartitionFetch, size_bytes: int) -> bool:
        """This partition now has ``size_bytes`` for us; returns whether that makes enough."""
        self.available_bytes += size_bytes - self._by_partition.get(fetch, 0)
        self._by_partition[fetch] = size_bytes
        return self.available_bytes >= self.params.min_bytes

    def complete(self) -> None:
        """Answer with what is there now."""
        if not self.is_completed:
            self._timer.one_died()
            self._end()

    def abandon(self) -> None:
        """Nobody waits for the answer any more."""
        if not self.is_completed:
            self._timer.one_died()
            self._leave()

    def expire(self) -> None:
        self._end()

    def _end(self) -> None:
        finish = self._finish
        self._leave()
        finish()

    def _leave(self) -> None:
        self.is_completed = True
        for watchers in self._watched_at:
            watchers.pop(self, None)
        # The timer may keep a finished operation for a while: not what it was about, too.
        self._watched_at.clear()
        self._by_partition.clear()
        self._finish = _nothing


def _nothing() -> None:
    """What a finished fetch does."""


FetchWatchers = dict[DelayedFetch, PartitionFetch]
"""The fetches that wait for a partition, in order of arrival, each with what it wants of it."""

IsEnough = Callable[[DelayedFetch, PartitionFetch], bool]


class FetchPurgatory:
    """All delayed fetches of a broker."""

    def __init__(self, loop: TimerLoop, pace: AnswerPace | None = None) -> None:
        self._loop = loop
        self._timer: Timer[DelayedFetch] = Timer(loop)
        self._pace = pace if pace is not None else AnswerPace()
        self._due: deque[DelayedFetch] = deque()
        self._gathered: list[DelayedFetch] = []  # due when the pause ends
        self._pause: Any = None  # the loop's timer for that
        self._answered = 0  # since nothing was due

    def __len__(self) -> int:
        return len(self._timer)

    @property
    def is_gathering(self) -> bool:
        """Consumers were just answered, and are not to be for a moment."""
        return self._pace.is_paused(self._loop.time())

    def delayed_fetch(self, params: FetchParams, finish: Callable[[], None]) -> DelayedFetch:
        """A fetch to park: `DelayedFetch.watch` its partitions, then `park`. ``finish`` is called once, at the end."""
        return DelayedFetch(params, self._timer, finish)

    def park(self, operation: DelayedFetch) -> None:
        self._timer.add(operation, operation.params.max_wait_ms)

    def wake(self, watchers: FetchWatchers, is_enough: IsEnough) -> None:
        """The partition of ``watchers`` changed: the fetches for which that ``is_enough`` are completed soon."""
        enough = [
            operation for operation, fetch in watchers.items() if not operation.is_due and is_enough(operation, fetch)
        ]
        if enough:
            if enough[0].params.is_follower or not self.is_gathering:
                self._complete_soon(enough)
            else:
                self._gather(enough)

    def wake_gathered(self, operation: DelayedFetch) -> None:
        """One that has enough already: it is completed with those that gather."""
        self._gather([operation])

    def _gather(self, operations: list[DelayedFetch]) -> None:
        for operation in operations:
            operation.is_due = True
        self._gathered += operations
        if self._pause is None:
            self._pause = self._loop.call_at(self._pace.paused_until_s, self._end_pause)

    def _end_pause(self) -> None:
        self._pause = None
        gathered, self._gathered = self._gathered, []
        self._complete_soon(gathered)

    def _complete_soon(self, operations: list[DelayedFetch]) -> None:
        if not self._due:
            self._loop.call_soon(self._complete_due)
        for operation in operations:
            operation.is_due = True
        self._due += operations

    def _complete_due(self) -> None:
        due = self._due
        for _ in range(min(len(due), COMPLETED_IN_A_TURN)):
            operation = due.popleft()
            if not operation.is_completed:
                self._answered += not operation.params.is_follower
                operation.complete()
        if due:
            self._loop.call_soon(self._complete_due)
        else:
            self._pace.answered(self._answered, self._loop.time())
            self._answered = 0

    def complete_all(self, watchers: FetchWatchers) -> None:
        """Waiting became pointless: the answers will say why."""
        for operation in tuple(watchers):
            operation.complete()

    def close(self) -> None:
        self._due.clear()
        self._gathered.clear()
        if self._pause is not None:
            self._pause.cancel()
        self._timer.close()
