"""Frames that come in many small pieces: each piece is one read event, which costs the loop as much as a whole request.

After ``FREE_PIECES`` of them the connection is not read for a moment, so that bytes gather in the system meanwhile; for
twice as long after each piece more, and from the first piece on with the frames that follow. Each frame takes one such
step back, and one that came in two pieces at most takes two. Who sends the size and the body apart, or a frame in a few
segments, waits for nothing.
"""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Protocol

__all__ = ["FREE_PIECES", "SMALL_PIECE", "Trickle", "Trickles", "TricklingConnection"]

SMALL_PIECE = 1024
"""Below it, a piece that completes no frame is small."""
FREE_PIECES = 8
FIRST_PAUSE_S = 0.005
LONGEST_PAUSE_S = 0.5
_MOST_STEPS = 7


class Trickle:
    """Of one connection, from its first small piece on."""

    __slots__ = ("_pieces", "_steps")

    def __init__(self) -> None:
        self._pieces = 0
        self._steps = 0

    def piece_came(self) -> float:
        """One that is small and completes nothing. For how long to read nothing more; 0: go on."""
        self._pieces += 1
        if not self._steps and self._pieces <= FREE_PIECES:
            return 0.0
        pause_s = min(FIRST_PAUSE_S * (1 << self._steps), LONGEST_PAUSE_S)
        self._steps = min(self._steps + 1, _MOST_STEPS)
        return pause_s

    def frame_came(self) -> bool:
        """Whether all is forgotten now."""
        self._steps = max(0, self._steps - (1 if self._pieces > 1 else 2))
        self._pieces = 0
        return not self._steps


class TricklingConnection(Protocol):
    """A connection, as seen from here."""

    def trickle_has_gathered(self) -> None: ...


class TimerHandle(Protocol):
    def cancel(self) -> None: ...


class Trickles:
    """The connections that are not read for a moment: one timer for all."""

    def __init__(
        self, call_later: Callable[[float, Callable[[], None]], TimerHandle], now_s: Callable[[], float]
    ) -> None:
        self._call_later = call_later
        self._now_s = now_s
        self._ends: list[tuple[float, int, TricklingConnection]] = []  # a heap; the number makes ties comparable
        self._paused: dict[TricklingConnection, int] = {}
        self._count = 0
        self._timer: TimerHandle | None = None

    @property
    def paused_count(self) -> int:
        return len(self._paused)

    def pause(self, connection: TricklingConnection, pause_s: float) -> None:
        """``trickle_has_gathered`` is called after so long."""
        self._count += 1
        self._paused[connection] = self._count
        end = (self._now_s() + pause_s, self._count, connection)
        heappush(self._ends, end)
        if self._ends[0] is end:
            self._arm()

    def forget(self, connection: TricklingConnection) -> None:
        """It is gone."""
        if self._paused.pop(connection, None) is not None and not self._paused:
            self._ends.clear()
            self._arm()

    def _arm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._ends:
            self._timer = self._call_later(self._ends[0][0] - self._now_s(), self._end_pauses)

    def _end_pauses(self) -> None:
        self._timer = None
        now_s = self._now_s()
        while self._ends and self._ends[0][0] <= now_s:
            _, number, connection = heappop(self._ends)
            if self._paused.get(connection) == number:
                del self._paused[connection]
                connection.trickle_has_gathered()
        if self._timer is None:
            self._arm()
