"""Timers of an event loop whose time can be moved ahead: the timers that become due then fire at once, in order.

**How.** Each timer also has a timer of the loop, so that it fires by itself when nothing moves the time. A move goes
from deadline to deadline: the time becomes that of the next timer, the timer fires, and the loop runs what follows from
it before the move goes on. A callback therefore sees the time at which it would have run, and may set timers that the
same move still reaches.
"""

import asyncio
import math
from collections.abc import Awaitable, Callable
from contextvars import copy_context
from heapq import heapify, heappop, heappush
from typing import Any

__all__ = ["MovableTimer", "MovableTimers"]


class MovableTimer:
    """A pending call of `MovableTimers` (`TimerHandle`)."""

    __slots__ = ("_arguments", "_callback", "_context", "_handle", "_number", "_timers", "when")

    def __init__(
        self,
        timers: "MovableTimers",
        when: float,
        number: int,
        callback: Callable[..., Any],
        arguments: tuple[Any, ...],
    ) -> None:
        self.when = when
        self._timers = timers
        self._number = number
        self._callback = callback
        self._arguments = arguments
        self._context = copy_context()
        self._handle: asyncio.TimerHandle | None = None

    def __lt__(self, other: "MovableTimer") -> bool:
        return (self.when, self._number) < (other.when, other._number)

    def cancel(self) -> None:
        """Do not call. Harmless when it was called or cancelled before."""
        self._timers.pending.pop(self, None)
        self.disarm()

    def arm(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        """Have the loop fire the timer at ``when``, by the loop's clock."""
        self.disarm()
        self._handle = loop.call_at(when, self._fire, context=self._context)

    def disarm(self) -> None:
        """The loop does not fire the timer any more."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def fire_soon(self, loop: asyncio.AbstractEventLoop) -> None:
        """Call in the next iteration of the loop, unless the timer is cancelled before."""
        self.disarm()
        loop.call_soon(self._fire, context=self._context)

    def _fire(self) -> None:
        if self in self._timers.pending:
            del self._timers.pending[self]
            self._handle = None
            self._callback(*self._arguments)


class MovableTimers:
    """A `Scheduler` above ``loop``, on whose thread it is used. Its time is the loop's time plus all moves."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._moved_s = 0.0
        self._numbers = 0
        self.pending: dict[MovableTimer, None] = {}
        """The timers that were neither called nor cancelled."""
        self._due_in_move: list[MovableTimer] | None = None
        """During a move: a heap of all pending timers, and some that are over."""

    def time(self) -> float:
        return self._loop.time() + self._moved_s

    def call_later(self, delay: float, callback: Callable[..., Any], /, *args: Any) -> MovableTimer:
        return self.call_at(self.time() + delay, callback, *args)

    def call_at(self, when: float, callback: Callable[..., Any], /, *args: Any) -> MovableTimer:
        self._numbers += 1
        timer = MovableTimer(self, when, self._numbers, callback, args)
        self.pending[timer] = None
        timer.arm(self._loop, when - self._moved_s)
        if self._due_in_move is not None:
            heappush(self._due_in_move, timer)
        return timer

    def call_soon(self, callback: Callable[..., Any], /, *args: Any) -> object:
        return self._loop.call_soon(callback, *args)

    async def move_to(self, goal_s: float, settle: Callable[[], Awaitable[None]]) -> None:
        """Move the time ahead to ``goal_s``, and fire each timer that becomes due, the earliest first.

        ``settle`` is awaited after each of them; it returns when the work that the timer began is done. Only one move
        at a time. When the move is cancelled the time stays where it is then.
        """
        self._due_in_move = list(self.pending)
        heapify(self._due_in_move)
        try:
            while (timer := self._next_until(goal_s)) is not None:
                self._reach(timer.when)
                timer.fire_soon(self._loop)
                await asyncio.sleep(0)
                await settle()
            self._reach(goal_s)
        finally:
            self._due_in_move = None
            for timer in self.pending:
                timer.arm(self._loop, timer.when - self._moved_s)

    def _next_until(self, goal_s: float) -> MovableTimer | None:
        heap = self._due_in_move
        while heap and heap[0].when <= goal_s:
            timer = heappop(heap)
            if timer in self.pending:
                return timer
        return None

    def _reach(self, when: float) -> None:
        """Move the time to ``when``, unless it is later already. Rounding must not leave it earlier."""
        behind_s = when - self.time()
        if behind_s > 0:
            self._moved_s += behind_s
            while self.time() < when:
                self._moved_s = math.nextafter(self._moved_s, math.inf)
