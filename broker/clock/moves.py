"""Moves the clock of all brokers that share it, each broker on its own event loop.

**How.** The wall clock is one for all brokers. Each event loop has its own `MovableTimers`, shared by the brokers on
that loop. A move returns futures, one for each loop, so that coroutines can await them and threads can block on them.
"""

import asyncio
import threading
from collections.abc import Callable, Collection, Coroutine
from concurrent.futures import Future
from typing import Any, NamedTuple, Protocol

from .movable_timers import MovableTimers
from .wall_clock import MovableWallClock

__all__ = ["MOST_TIMERS_MS", "ClockMoves", "ClockedParts", "TimerMove"]

MOST_TIMERS_MS = 86_400_000
"""The longest move of the timers, which fire one after the other. No wait for a client is longer by default."""

_TURNS = 3
"""Iterations of the loop in which it notices what other threads and processes did just before a move."""


class TimerMove(NamedTuple):
    """A move of the timers.

    Attributes:
        goal_s: the time of the timers at its end.
        silent: ids of members, group instances and clients that count as gone.
        keep_alive: whether other members with an open connection count as alive.
    """

    goal_s: float
    silent: frozenset[str]
    keep_alive: bool


class ClockedParts(Protocol):
    """A running broker, as its clock sees it. Used on the broker's loop."""

    async def do_due_work(self) -> None:
        """The wall clock was moved: do the work that became due, and return when it is done."""

    def begin_move(self, move: TimerMove) -> None:
        """The timers begin to move."""

    async def settle(self) -> None:
        """Return when the work that a timer began is done."""

    async def end_move(self) -> None:
        """The timers have moved: do what no timer did, and return when it is done."""

    def abandon_move(self) -> None:
        """The timers do not move any more. Also called after `end_move`."""


class _ClockedLoop:
    """The timers and the brokers of one event loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.timers = MovableTimers(loop)
        self.brokers: list[ClockedParts] = []
        self.stands_still = False
        self._moving = asyncio.Lock()

    async def do_due_work(self) -> None:
        async with self._moving:
            await asyncio.gather(*(broker.do_due_work() for broker in self.brokers))

    async def move_timers(self, seconds: float, silent: frozenset[str], *, keep_alive: bool) -> None:
        async with self._moving:
            for _ in range(_TURNS):
                await asyncio.sleep(0)
            move = TimerMove(self.timers.time() + seconds, silent, keep_alive)
            brokers = list(self.brokers)
            for broker in brokers:
                broker.begin_move(move)
            try:
                await self.timers.move_to(move.goal_s, self._settle)
                await asyncio.gather(*(broker.end_move() for broker in brokers))
            finally:
                for broker in brokers:
                    broker.abandon_move()

    async def _settle(self) -> None:
        for broker in list(self.brokers):
            await broker.settle()


class ClockMoves:
    """The clock. May be used from any thread, except where a method says more."""

    def __init__(self) -> None:
        self.wall = MovableWallClock()
        self._loops: dict[asyncio.AbstractEventLoop, _ClockedLoop] = {}
        self._changing = threading.Lock()

    def timers_on(self, loop: asyncio.AbstractEventLoop) -> MovableTimers:
        """The timers of brokers on that loop."""
        with self._changing:
            return self._clocked(loop).timers

    def follow(self, broker: ClockedParts, loop: asyncio.AbstractEventLoop) -> None:
        """Move this broker too, which runs on ``loop``."""
        with self._changing:
            self._clocked(loop).brokers.append(broker)

    def forget(self, broker: ClockedParts, loop: asyncio.AbstractEventLoop) -> None:
        """The broker ends. Harmless when it is not known."""
        with self._changing:
            clocked = self._loops.get(loop)
            if clocked is not None and broker in clocked.brokers:
                clocked.brokers.remove(broker)
                if not clocked.brokers:
                    del self._loops[loop]

    def leave_out(self, loop: asyncio.AbstractEventLoop) -> None:
        """The loop stands still from now on: do not wait for its brokers."""
        self._set_standing(loop, stands_still=True)

    def take_in(self, loop: asyncio.AbstractEventLoop) -> None:
        """The loop runs again. Its timers have missed the moves meanwhile."""
        self._set_standing(loop, stands_still=False)

    def is_any_standing(self) -> bool:
        """Whether the loop of a broker stands still."""
        with self._changing:
            return any(each.stands_still and each.brokers for each in self._loops.values())

    def _set_standing(self, loop: asyncio.AbstractEventLoop, *, stands_still: bool) -> None:
        with self._changing:
            clocked = self._loops.get(loop)
            if clocked is not None:
                clocked.stands_still = stands_still

    def uses(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether a broker runs on that loop."""
        return loop in self._loops

    def advance(self, ms: int) -> list[Future[None]]:
        """Move the wall clock, and begin the work that becomes due."""
        self.wall.advance(ms)
        return self.begin_due_work()

    def begin_due_work(self) -> list[Future[None]]:
        """Begin the work that became due on every broker."""
        return self._on_each_loop(_ClockedLoop.do_due_work)

    def advance_timers(self, ms: int, silent: Collection[str], *, keep_alive: bool) -> list[Future[None]]:
        """Move the wall clock, and begin to move the timers. Raises ValueError for more than a day."""
        if isinstance(silent, str):
            raise TypeError(f"silent={silent!r} is one text; a tuple of ids is wanted")
        if ms > MOST_TIMERS_MS:
            raise ValueError(f"timers move by one day at most, not by {ms} ms; advance moves the wall clock further")
        names = frozenset(silent)
        self.wall.advance(ms)
        return self._on_each_loop(lambda clocked: clocked.move_timers(ms / 1000, names, keep_alive=keep_alive))

    def _clocked(self, loop: asyncio.AbstractEventLoop) -> _ClockedLoop:
        clocked = self._loops.get(loop)
        if clocked is None:
            clocked = self._loops[loop] = _ClockedLoop(loop)
        return clocked

    def _on_each_loop(self, work: Callable[[_ClockedLoop], Coroutine[Any, Any, None]]) -> list[Future[None]]:
        with self._changing:
            loops = [each for each in self._loops.values() if each.brokers and not each.stands_still]
            return [
                asyncio.run_coroutine_threadsafe(work(each), each.loop) for each in loops if not each.loop.is_closed()
            ]
