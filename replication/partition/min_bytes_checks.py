"""Checks whether parked fetches with a min bytes above one have enough: a few per iteration of the event loop.

Why: one check takes some ten microseconds. An append that had to check a thousand fetches that wait for a megabyte
would take a thousand times as long as it does: with 300 such fetches 2,200 µs of CPU in place of 46.
How: checks take a tenth of the event loop at most. Partitions are checked round robin, and so are the fetches of each
partition. With few fetches each is checked within a millisecond.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from ...base.timers import Scheduler
from .delayed_fetch import DelayedFetch, FetchWatchers, IsEnough

__all__ = ["CHECKS_PER_ITERATION", "MinBytesChecks"]

CHECKS_PER_ITERATION = 32
_PAUSE_S_FOR_A_CHECK = 100e-6
"""Ten times what a check takes."""


class MinBytesChecks:
    """``found(operation)`` is called for each fetch that has enough."""

    def __init__(self, loop: Scheduler, found: Callable[[DelayedFetch], None]) -> None:
        self._loop = loop
        self._found = found
        self._changed: OrderedDict[FetchWatchers, IsEnough] = OrderedDict()  # partitions, in the order of their checks
        self._paused_until_s = float("-inf")
        self._timer: Any = None

    def changed(self, watchers: FetchWatchers, is_enough: IsEnough) -> None:
        """The partition of ``watchers`` changed: check its fetches."""
        watchers.changes += 1
        if watchers not in self._changed:
            self._changed[watchers] = is_enough
            if self._timer is None:
                self._wait()

    def close(self) -> None:
        self._changed.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wait(self) -> None:
        if self._loop.time() >= self._paused_until_s:
            self._timer = self._loop.call_soon(self._check)
        else:
            self._timer = self._loop.call_at(self._paused_until_s, self._check)

    def _check(self) -> None:
        self._timer = None
        checks = 0
        while checks < CHECKS_PER_ITERATION and self._changed:
            watchers, is_enough = self._changed.popitem(last=False)
            unchecked = watchers.next_unchecked()
            if unchecked is None:
                continue
            operation, fetch = unchecked
            self._changed[watchers] = is_enough  # behind the other partitions
            checks += 1
            if is_enough(operation, fetch):
                self._found(operation)
        self._paused_until_s = self._loop.time() + checks * _PAUSE_S_FOR_A_CHECK
        if self._changed:
            self._wait()
