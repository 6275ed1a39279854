"""The clock of brokers in tests: ``TestClock`` for coroutines, ``BlockingClock`` for code without an event loop."""

import asyncio
from collections.abc import Collection, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for_all

from .moves import ClockMoves
from .wall_clock import duration_ms

__all__ = ["DEFAULT_WAIT_S", "BlockingClock", "TestClock"]

DEFAULT_WAIT_S = 10.0
"""The longest wait for work that became due. It ends much earlier, unless the work cannot be done now."""


class TestClock:
    """The clock of one broker, or of the brokers of a cluster, with two hands. No hand ever goes back.

    `advance` moves the wall clock: the age of records, offsets and producers. `advance_timers` moves the timers that
    wait for clients: sessions, rebalances, transactions, idle connections. Fetches, produces, replication and ZooKeeper
    keep to real time, because the other side does. Methods raise ValueError for a negative duration, and TimeoutError
    when the work is not done within ``wait_s``; the clock has moved then.
    """

    __test__ = False  # its name looks like that of a test

    def __init__(self) -> None:
        self.moves = ClockMoves()
        self.clock_ms = self.moves.wall.now_ms
        """Returns the time in milliseconds since 1970. May be called from any thread."""

    async def advance(
        self,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        ms: float = 0,
        wait_s: float = DEFAULT_WAIT_S,
    ) -> None:
        """Move the wall clock; return when the work that became due is done.

        That work is one round each of retention, compaction, and the expiry of offsets, producers and transactional
        ids. Transactions that are open longer than their time-out are aborted. Members of groups stay, because the
        timers do not move. Records have the time of their producer, unless ``message.timestamp.type=LogAppendTime``.
        The clock never goes back: on a broker that tests share, retention may delete the records of a later test.
        """
        moved_ms = duration_ms(days=days, hours=hours, minutes=minutes, seconds=seconds, ms=ms)
        await _all_done(self.moves.advance(moved_ms), wait_s)

    async def advance_timers(
        self,
        seconds: float = 0,
        *,
        minutes: float = 0,
        ms: float = 0,
        silent: Collection[str] = (),
        keep_alive: bool = True,
        wait_s: float = DEFAULT_WAIT_S,
    ) -> None:
        """Move the timers, and the wall clock with them; return when everything due was done.

        Timers fire in the order of their deadlines. A member with an open connection counts as alive: its heartbeats
        come in real time, and its client cannot know that the clock moved. Its waits therefore begin anew at the end
        of the move. Other members are removed when their time is over: members without an open connection, members
        named in ``silent`` (by member id, group instance id or client id), and with ``keep_alive=False`` all members.
        """
        moved_ms = duration_ms(days=0, hours=0, minutes=minutes, seconds=seconds, ms=ms)
        await _all_done(self.moves.advance_timers(moved_ms, silent, keep_alive=keep_alive), wait_s)

    async def freeze(self, at_ms: int | None = None, *, wait_s: float = DEFAULT_WAIT_S) -> None:
        """Stop the wall clock: now, or at ``at_ms`` (since 1970), which may be ahead. Work that became due is done.

        Both ways to advance still move it. Raises ValueError when ``at_ms`` is in the past.
        """
        self.moves.wall.freeze(at_ms)
        if at_ms is not None:
            await _all_done(self.moves.begin_due_work(), wait_s)

    def unfreeze(self) -> None:
        """Have the wall clock go on from where it stands."""
        self.moves.wall.unfreeze()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.clock_ms()} ms>"


class BlockingClock:
    """A `TestClock` for threads without an event loop. Methods return when it is done, and raise as its methods do."""

    def __init__(self, clock: TestClock) -> None:
        self._moves = clock.moves
        self.clock_ms = clock.clock_ms
        """Returns the time in milliseconds since 1970."""

    def advance(
        self,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        ms: float = 0,
        wait_s: float = DEFAULT_WAIT_S,
    ) -> None:
        """As `TestClock.advance`."""
        moved_ms = duration_ms(days=days, hours=hours, minutes=minutes, seconds=seconds, ms=ms)
        self._check_thread()
        _wait(self._moves.advance(moved_ms), wait_s)

    def advance_timers(
        self,
        seconds: float = 0,
        *,
        minutes: float = 0,
        ms: float = 0,
        silent: Collection[str] = (),
        keep_alive: bool = True,
        wait_s: float = DEFAULT_WAIT_S,
    ) -> None:
        """As `TestClock.advance_timers`."""
        moved_ms = duration_ms(days=0, hours=0, minutes=minutes, seconds=seconds, ms=ms)
        self._check_thread()
        _wait(self._moves.advance_timers(moved_ms, silent, keep_alive=keep_alive), wait_s)

    def freeze(self, at_ms: int | None = None, *, wait_s: float = DEFAULT_WAIT_S) -> None:
        """As `TestClock.freeze`."""
        self._check_thread()
        self._moves.wall.freeze(at_ms)
        if at_ms is not None:
            _wait(self._moves.begin_due_work(), wait_s)

    def unfreeze(self) -> None:
        """As `TestClock.unfreeze`."""
        self._moves.wall.unfreeze()

    def _check_thread(self) -> None:
        """Raises RuntimeError on the loop of a broker, which would wait for itself."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if self._moves.uses(loop):
            raise RuntimeError("the clock of a broker on this event loop is moved by awaiting the methods of TestClock")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.clock_ms()} ms>"


async def _all_done(moves: Sequence[Future[None]], wait_s: float) -> None:
    try:
        async with asyncio.timeout(wait_s):
            await asyncio.gather(*map(asyncio.wrap_future, moves))
    except TimeoutError:
        raise _too_late(wait_s) from None


def _wait(moves: Sequence[Future[None]], wait_s: float) -> None:
    done, undone = wait_for_all(moves, wait_s)
    for move in undone:
        move.cancel()
    if undone:
        raise _too_late(wait_s)
    for move in done:
        move.result()


def _too_late(wait_s: float) -> TimeoutError:
    return TimeoutError(f"the clock has moved, but the brokers have not done within {wait_s:g} s what became due")
