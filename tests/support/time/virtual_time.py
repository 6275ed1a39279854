"""Clocks and timers in virtual time for the group coordinator: only `advance` runs timers that are due."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any

WALL_CLOCK_START_MS = 1_700_000_000_000


class VirtualTimer:
    """The handle that `call_later` returns."""

    def __init__(self, callback: Callable[..., Any], args: tuple[Any, ...]) -> None:
        self._callback = callback
        self._args = args
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True

    def run(self) -> None:
        if not self.is_cancelled:
            self._callback(*self._args)


class VirtualTime:
    """The timers of a loop, in seconds, and a wall clock in milliseconds that goes along.

    Counts in whole microseconds inside, so that sums of time-outs meet exactly.
    """

    def __init__(self) -> None:
        self._now_us = 0
        self._timers: list[tuple[int, int, VirtualTimer]] = []
        self._count = 0

    def time(self) -> float:
        return self._now_us / 1_000_000

    def now_ms(self) -> int:
        return WALL_CLOCK_START_MS + self._now_us // 1_000

    def call_later(self, delay: float, callback: Callable[..., Any], /, *args: Any) -> VirtualTimer:
        return self._add(self._now_us + round(delay * 1_000_000), callback, args)

    def call_at(self, when: float, callback: Callable[..., Any], /, *args: Any) -> VirtualTimer:
        return self._add(round(when * 1_000_000), callback, args)

    def call_soon(self, callback: Callable[..., Any], /, *args: Any) -> VirtualTimer:
        return self._add(self._now_us, callback, args)

    def _add(self, due_us: int, callback: Callable[..., Any], args: tuple[Any, ...]) -> VirtualTimer:
        timer = VirtualTimer(callback, args)
        self._count += 1
        heappush(self._timers, (due_us, self._count, timer))
        return timer

    @property
    def armed_count(self) -> int:
        """The number of timers that may still fire."""
        return sum(not timer.is_cancelled for _, _, timer in self._timers)

    def turn(self) -> None:
        """Run one loop iteration: callbacks that are due now, without those that they add."""
        last = self._count
        while self._timers and self._timers[0][0] <= self._now_us and self._timers[0][1] <= last:
            heappop(self._timers)[2].run()

    def advance(self, milliseconds: int) -> None:
        """Advance the time and run each timer that becomes due at its own time."""
        until_us = self._now_us + milliseconds * 1_000
        while self._timers and self._timers[0][0] <= until_us:
            due_us, _, timer = heappop(self._timers)
            self._now_us = max(self._now_us, due_us)
            timer.run()
        self._now_us = until_us
