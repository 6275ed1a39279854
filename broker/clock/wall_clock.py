"""A wall clock that tests move ahead, and stop. It never goes back."""

import threading
import time
from collections.abc import Callable

__all__ = ["MOST_AHEAD_MS", "MovableWallClock", "duration_ms"]

MOST_AHEAD_MS = 100 * 366 * 86_400_000
"""How far moves may bring the clock ahead of the system's clock: about 100 years."""


_MOST_OF_A_PART = 1e15


def _system_clock_ms() -> int:
    return time.time_ns() // 1_000_000


def duration_ms(*, days: float, hours: float, minutes: float, seconds: float, ms: float) -> int:
    """The sum, in milliseconds. Raises ValueError when it is negative, or a part is no number or very large."""
    given = {"days": days, "hours": hours, "minutes": minutes, "seconds": seconds, "ms": ms}
    for name, value in given.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{name} is a number, not {value!r:.60}")
        if not -_MOST_OF_A_PART <= value <= _MOST_OF_A_PART:
            shown = f"{value:g}" if isinstance(value, float) else "a larger one"
            raise ValueError(f"{name} is a number up to {_MOST_OF_A_PART:g}, not {shown}")
    total = ((days * 24 + hours) * 60 + minutes) * 60_000 + seconds * 1_000 + ms
    if total < 0:
        parts = " and ".join(f"{value:g} {name}" for name, value in given.items() if value)
        raise ValueError(f"a clock moves ahead only, not by {parts}")
    return round(total)


class MovableWallClock:
    """Milliseconds since 1970: the system's clock plus all moves. May be read and moved from any thread."""

    def __init__(self, system_ms: Callable[[], int] = _system_clock_ms) -> None:
        self._system_ms = system_ms
        self._moved_ms = 0
        self._frozen_ms: int | None = None
        self._moving = threading.Lock()

    def now_ms(self) -> int:
        frozen_ms = self._frozen_ms
        return self._system_ms() + self._moved_ms if frozen_ms is None else frozen_ms

    def advance(self, ms: int) -> None:
        """Move ahead; a clock that stands still does, too. Raises ValueError for a time that is too far ahead."""
        with self._moving:
            self._check(self.now_ms() + ms)
            if self._frozen_ms is None:
                self._moved_ms += ms
            else:
                self._frozen_ms += ms

    def freeze(self, at_ms: int | None) -> None:
        """Stand still from now on: at ``at_ms``, or now. Raises ValueError when ``at_ms`` is in the past, or
        too far ahead."""
        with self._moving:
            now_ms = self.now_ms()
            if at_ms is not None and at_ms < now_ms:
                raise ValueError(f"a clock moves ahead only: it is {now_ms} ms, so it cannot stand still at {at_ms} ms")
            if at_ms is not None:
                self._check(at_ms)
            self._frozen_ms = now_ms if at_ms is None else at_ms

    def _check(self, goal_ms: int) -> None:
        last_ms = self._system_ms() + MOST_AHEAD_MS
        if goal_ms > last_ms:
            raise ValueError(
                f"the clock cannot be moved to {goal_ms} ms: more than 100 years ahead of the system's clock"
            )

    def unfreeze(self) -> None:
        """Go on from the time at which the clock stands."""
        with self._moving:
            if self._frozen_ms is not None:
                self._moved_ms = self._frozen_ms - self._system_ms()
                self._frozen_ms = None
