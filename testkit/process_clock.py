"""The clock of a broker in a process of its own, which is moved over HTTP."""

import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from ..broker.clock.clocks import DEFAULT_WAIT_S
from ..broker.clock.wall_clock import MOST_AHEAD_MS, duration_ms
from ..broker.library.cluster.kit_client import KitClient

__all__ = ["ProcessClock"]

_MARGIN_MS = 1_000
"""A frozen time that is further ahead than this is still ahead when a broker hears of it."""


class ProcessClock:
    """As `BlockingClock`. ``kit``: the test kit of the running broker, or None while it does not run.

    A move of a broker that does not run takes effect at its next start. A restart does not move the clock back, but the
    broker has the moved time only when it is ready. Raises ActError when the broker does not answer.
    """

    def __init__(self, kit: Callable[[], KitClient | None]) -> None:
        self._kit = kit
        self._ahead_ms = 0
        self._frozen_ms: int | None = None

    def clock_ms(self) -> int:
        """The time in milliseconds since 1970."""
        return _system_ms() + self._ahead_ms if self._frozen_ms is None else self._frozen_ms

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
        self._move(moved_ms, {"advance_ms": moved_ms}, wait_s)

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
        """As `TestClock.advance_timers`. A broker that does not run has no timers."""
        moved_ms = duration_ms(days=0, hours=0, minutes=minutes, seconds=seconds, ms=ms)
        move = {"advance_timers_ms": moved_ms, "silent": list(silent), "keep_alive": keep_alive}
        self._move(moved_ms, move, wait_s)

    def freeze(self, at_ms: int | None = None, *, wait_s: float = DEFAULT_WAIT_S) -> None:
        """As `TestClock.freeze`."""
        if at_ms is not None and at_ms < (now_ms := self.clock_ms()):
            raise ValueError(f"a clock moves ahead only: it is {now_ms} ms, so it cannot stand still at {at_ms} ms")
        told_ms = self._tell({"freeze": True if at_ms is None else at_ms}, wait_s)
        if told_ms is None:
            told_ms = self.clock_ms() if at_ms is None else at_ms
        self._frozen_ms = told_ms

    def unfreeze(self) -> None:
        """As `TestClock.unfreeze`."""
        if self._frozen_ms is not None:
            self._tell({"freeze": False}, DEFAULT_WAIT_S)
            self._ahead_ms, self._frozen_ms = self._frozen_ms - _system_ms(), None

    def broker_started(self) -> None:
        """Bring a broker that has just started to the time of this clock."""
        frozen_ms, self._frozen_ms = self._frozen_ms, None
        if frozen_ms is not None:
            self.freeze(frozen_ms if frozen_ms > _system_ms() + _MARGIN_MS else None)
        elif self._ahead_ms > 0:
            self._tell({"advance_ms": self._ahead_ms}, DEFAULT_WAIT_S)

    def _move(self, moved_ms: int, move: Mapping[str, Any], wait_s: float) -> None:
        if self.clock_ms() + moved_ms > _system_ms() + MOST_AHEAD_MS:
            raise ValueError("the clock cannot be moved more than 100 years ahead of the system's clock")
        self._note(moved_ms)
        try:
            self._tell(move, wait_s)
        except ValueError:  # refused; after other errors the clock has moved
            self._note(-moved_ms)
            raise

    def _note(self, moved_ms: int) -> None:
        if self._frozen_ms is None:
            self._ahead_ms += moved_ms
        else:
            self._frozen_ms += moved_ms

    def _tell(self, move: Mapping[str, Any], wait_s: float) -> int | None:
        """The time of the broker after a move; None if it does not run."""
        kit = self._kit()
        return None if kit is None else kit.move_clock(move, wait_s)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {self.clock_ms()} ms>"


def _system_ms() -> int:
    return time.time_ns() // 1_000_000
