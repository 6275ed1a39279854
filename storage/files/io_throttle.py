"""Keeps reads and writes below a number of bytes a second on average, by pauses."""

from __future__ import annotations

from collections.abc import Callable

_SHORTEST_PAUSE_S = 0.01


class IoThrottle:
    """`now_s` is a monotonic clock; `pause` sleeps that many seconds. Unused bandwidth is not saved up."""

    def __init__(self, max_bytes_per_s: float, now_s: Callable[[], float], pause: Callable[[float], None]) -> None:
        self._rate = max_bytes_per_s
        self._now_s = now_s
        self._pause = pause
        self._free_at = now_s()

    def spend(self, size_bytes: int) -> None:
        """Account for bytes read or written; returns when the next may follow."""
        now = self._now_s()
        self._free_at = max(self._free_at, now) + size_bytes / self._rate
        if self._free_at - now >= _SHORTEST_PAUSE_S:
            self._pause(self._free_at - now)
