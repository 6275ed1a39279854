"""A map whose memory is bounded, for counters of clients. Pure.

A counter of a client that sent nothing for a while is as good as a new one. Such counters are dropped when new ones
are made, least recently used first. A client that invents names makes a counter for each, so there is a largest number
as well: beyond it the least recently used counter is dropped although it still counts.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

__all__ = ["MOST_COUNTERS", "RecentlyUsed"]

Key = TypeVar("Key", bound=Hashable)
Counter = TypeVar("Counter")

MOST_COUNTERS = 10_000
_DROPPED_AT_ONCE = 2


class RecentlyUsed(Generic[Key, Counter]):
    """``make`` makes a counter; ``is_idle(counter, now_ms)`` says whether it is as good as a new one."""

    def __init__(
        self, make: Callable[[], Counter], is_idle: Callable[[Counter, int], bool], most: int = MOST_COUNTERS
    ) -> None:
        self._make = make
        self._is_idle = is_idle
        self._most = most
        self._counters: OrderedDict[Key, Counter] = OrderedDict()

    def __len__(self) -> int:
        return len(self._counters)

    @property
    def is_crowded(self) -> bool:
        """Whether counters may soon be dropped that still count."""
        return 2 * len(self._counters) > self._most

    def get(self, key: Key, now_ms: int) -> Counter:
        """The counter of ``key``, made if it is missing; it is then the most recently used one."""
        counter = self._counters.get(key)
        if counter is None:
            self._drop(now_ms)
            counter = self._counters[key] = self._make()
        else:
            self._counters.move_to_end(key)
        return counter

    def items(self) -> list[tuple[Key, Counter]]:
        """A copy, the least recently used first."""
        return list(self._counters.items())

    def drop(self, key: Key) -> None:
        self._counters.pop(key, None)

    def _drop(self, now_ms: int) -> None:
        for _ in range(_DROPPED_AT_ONCE):
            oldest = next(iter(self._counters.items()), None)
            if oldest is None or not (len(self._counters) >= self._most or self._is_idle(oldest[1], now_ms)):
                return
            del self._counters[oldest[0]]
