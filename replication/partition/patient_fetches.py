"""The looks at fetches that wait for much: few at a time, in turns, with pauses.

What a partition has for a fetch costs some ten microseconds to find out. An append that had to ask this for each of a
thousand consumers that wait for a megabyte, or for each long poll of a hostile client, would take a thousand times as
long as it does. So these looks have a tenth of the loop at most: those who wait share it, in the order in which they
were looked at, and with few of them nobody is looked at later than in a millisecond.
"""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .delayed_fetch import DelayedFetch, FetchWatchers, IsEnough
from .timer import TimerLoop

__all__ = ["LOOKS_IN_A_TURN", "PatientFetches"]

LOOKS_IN_A_TURN = 32
_PAUSE_S_FOR_A_LOOK = 100e-6
"""Ten times what one takes."""


class PatientFetches:
    """``found(watchers, operation)`` is told of each for which there is enough."""

    def __init__(self, loop: TimerLoop, found: Callable[[FetchWatchers, DelayedFetch], None]) -> None:
        self._loop = loop
        self._found = found
        self._changed: OrderedDict[FetchWatchers, IsEnough] = OrderedDict()  # partitions, in the order of their turns
        self._rests_until_s = float("-inf")
        self._timer: Any = None

    def changed(self, watchers: FetchWatchers, is_enough: IsEnough) -> None:
        """The partition has changed since its patient fetches were looked at."""
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
        if self._loop.time() >= self._rests_until_s:
            self._timer = self._loop.call_soon(self._look)
        else:
            self._timer = self._loop.call_at(self._rests_until_s, self._look)

    def _look(self) -> None:
        self._timer = None
        looks = 0
        while looks < LOOKS_IN_A_TURN and self._changed:
            watchers, is_enough = self._changed.popitem(last=False)
            following = watchers.next_patient()
            if following is None:
                continue
            operation, fetch = following
            watchers.was_not_enough(operation, fetch)
            self._changed[watchers] = is_enough  # behind the others
            looks += 1
            if is_enough(operation, fetch):
                self._found(watchers, operation)
        self._rests_until_s = self._loop.time() + looks * _PAUSE_S_FOR_A_LOOK
        if self._changed:
            self._wait()
