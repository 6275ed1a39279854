"""Collections of garbage take longer the more objects there are, a third of a second with ten thousand partitions, and
nobody is served meanwhile. So what has survived a long one is left out of those that follow (``gc.freeze``).

In what is left out there may be garbage later on, of topics that were deleted, say. So it is looked at again now and
then, all at once, for a hundredth of the time at most.
"""

import gc
import time
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["GcTuning"]

LONG_S = 0.02
LOOKS_APART = 100
"""Times as long as a look at everything took no other one comes."""


class Collector(Protocol):
    """`gc`."""

    def freeze(self) -> None: ...

    def unfreeze(self) -> None: ...


class GcTuning:
    """One for a process: ``note`` is for `gc.callbacks`."""

    def __init__(self, collector: Collector = gc, now_s: Callable[[], float] = time.perf_counter) -> None:
        self._collector = collector
        self._now_s = now_s
        self._began_s = 0.0
        self._is_of_all = False
        self._looked_s = now_s()
        self._look_took_s = 0.0
        self._has_left_out = False  # anything since

    def note(self, phase: str, info: dict[str, Any]) -> None:
        if info["generation"] < 2:
            return
        if phase == "start":
            self._begin()
        else:
            self._end(self._now_s() - self._began_s)

    def _begin(self) -> None:
        self._began_s = self._now_s()
        self._is_of_all = self._has_left_out and self._began_s - self._looked_s >= self._look_took_s * LOOKS_APART
        if self._is_of_all:
            self._collector.unfreeze()

    def _end(self, took_s: float) -> None:
        if self._is_of_all:
            self._looked_s, self._look_took_s = self._now_s(), took_s
            self._has_left_out = False
        elif took_s > LONG_S:
            self._has_left_out = True
        else:
            return
        self._collector.freeze()
