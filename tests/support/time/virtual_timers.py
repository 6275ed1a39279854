"""A loop's clock and timers in virtual time: `advance` runs the timers that are due, and nothing else runs."""

from collections.abc import Callable
from heapq import heappop, heappush
from typing import Any


class VirtualHandle:
    def __init__(self) -> None:
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True


class VirtualTimers:
    """``time()`` in seconds, ``call_at``, ``call_later`` and ``call_soon``, as an event loop has them."""

    def __init__(self) -> None:
        self._now_s = 0.0
        self._timers: list[tuple[float, int, VirtualHandle, Callable[..., Any], tuple[Any, ...]]] = []
        self._count = 0

    def time(self) -> float:
        return self._now_s

    def call_at(self, when: float, callback: Callable[..., Any], *args: Any) -> VirtualHandle:
        handle = VirtualHandle()
        self._count += 1
        heappush(self._timers, (when, self._count, handle, callback, args))
        return handle

    def call_later(self, delay: float, callback: Callable[..., Any], *args: Any) -> VirtualHandle:
        return self.call_at(self._now_s + delay, callback, *args)

    def call_soon(self, callback: Callable[..., Any], *args: Any) -> VirtualHandle:
        return self.call_at(self._now_s, callback, *args)

    @property
    def pending(self) -> int:
        return sum(not timer[2].is_cancelled for timer in self._timers)

    def turn(self) -> None:
        """Run one loop iteration: callbacks that are due now, without those that they add."""
        last = self._count
        while self._timers and self._timers[0][0] <= self._now_s and self._timers[0][1] <= last:
            _, _, handle, callback, args = heappop(self._timers)
            if not handle.is_cancelled:
                callback(*args)

    def advance(self, milliseconds: float) -> None:
        """Advance the time and run each timer that becomes due at its own time."""
        until = self._now_s + milliseconds / 1000
        while self._timers and self._timers[0][0] <= until:
            when, _, handle, callback, args = heappop(self._timers)
            if not handle.is_cancelled:
                self._now_s = max(self._now_s, when)
                callback(*args)
        self._now_s = until
