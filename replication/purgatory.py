"""Requests that wait: produces for the high watermark, fetches for data or for their time to be up.

Everything here is on the loop. An operation is completed exactly once, by what it waits for, by an error that makes
waiting pointless (leadership lost, partition deleted), or by its deadline. It is watched at the partitions it
concerns, so an append wakes nobody else, and a partition without waiters costs one truth test.

A fetch that has enough is completed in the loop's next turn, behind all that this turn has read: the producer's answer
does not wait for it, and what several producers send at the same time is one answer. Of many such fetches a turn
completes some: everybody else's requests do not wait behind all of them. Where many consumers wait for a partition, the
answers that it causes gather for a moment (`answer_pace`); those to followers never do, for produces wait for them.
"""

from collections import deque
from collections.abc import Callable
from typing import Any

from ..protocol.errors import ErrorCode
from ..storage.callbacks import call_apart
from .answer_pace import FEW, AnswerPace
from .fetch import FetchParams, PartitionFetch
from .isolation import Isolation
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
            call_apart(self._done, error)

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
        "is_gathering",
        "params",
    )

    def __init__(self, params: FetchParams, timer: "Timer[DelayedFetch]", finish: Callable[[], None]) -> None:
        self.params = params
        self.available_bytes = 0
        self.is_completed = False
        self.is_due = False  # for the loop's next turn
        self.is_gathering = False
        self._by_partition: dict[PartitionFetch, int] = {}
        self._watched_at: list[FetchWatchers] = []
        self._timer = timer
        self._finish = finish

    def watch(self, watchers: "FetchWatchers", fetch: PartitionFetch) -> None:
        watchers[self] = fetch
        self._watched_at.append(watchers)

    def count_answer(self) -> "list[FetchWatchers]":
        """It is about to be answered: counted where it waits. Returns the partitions with none counted before."""
        first = [watchers for watchers in self._watched_at if not watchers.answered]
        for watchers in self._watched_at:
            watchers.answered += 1
        return first

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


class FetchWatchers(dict[DelayedFetch, PartitionFetch]):
    """The fetches that wait for a partition, in order of arrival, each with what it wants of it."""

    __slots__ = ("answered", "paused_until_s")

    def __init__(self) -> None:
        self.answered = 0  # of the consumers here, in this turn of the loop
        self.paused_until_s = _NEVER_PAUSED


_NEVER_PAUSED = float("-inf")
IsEnough = Callable[[DelayedFetch, PartitionFetch], bool]


class FetchPurgatory:
    """All delayed fetches of a broker."""

    def __init__(self, loop: TimerLoop, pace: AnswerPace | None = None) -> None:
        self._loop = loop
        self._timer: Timer[DelayedFetch] = Timer(loop)
        self._pace = pace if pace is not None else AnswerPace()
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
        is_paused = self.is_paused(watchers)
        enough = [
            operation
            for operation, fetch in watchers.items()
            if not operation.is_due and not (is_paused and operation.is_gathering) and is_enough(operation, fetch)
        ]
        if enough:
            if is_paused:
                self.gather(enough, watchers.paused_until_s)
            else:
                self._complete_soon(enough)

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
        self._due.clear()
        for timer, _ in self._gathered.values():
            timer.cancel()
        self._gathered.clear()
        self._timer.close()
