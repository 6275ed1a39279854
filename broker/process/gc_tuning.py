"""Keeps garbage collections short.

Why: a full collection takes longer the more objects there are, a third of a second with ten thousand partitions, and
blocks all requests meanwhile.
How: objects that survive a long collection are excluded from later ones (``gc.freeze``). They may become garbage later,
for example when topics are deleted, so now and then one collection covers everything, for at most 1 % of the time.
"""

import gc
import time
from collections.abc import Callable
from typing import Any, Protocol

__all__ = ["GcTuning"]

LONG_S = 0.02
PAUSE_FACTOR = 100
"""The pause after a collection of everything, as a multiple of its duration."""


class Collector(Protocol):
    """The module `gc`, or its replacement in a test."""

    def freeze(self) -> None: ...

    def unfreeze(self) -> None: ...


class GcTuning:
    """One for each process; ``note`` is a callback for `gc.callbacks`."""

    def __init__(self, collector: Collector = gc, now_s: Callable[[], float] = time.perf_counter) -> None:
        self._collector = collector
        self._now_s = now_s
        self._began_s = 0.0
        self._covers_all = False
        self._covered_all_s = now_s()
        self._cover_took_s = 0.0
        self._has_frozen = False  # since the last collection of everything

    def note(self, phase: str, info: dict[str, Any]) -> None:
        if info["generation"] < 2:
            return
        if phase == "start":
            self._begin()
        else:
            self._end(self._now_s() - self._began_s)

    def _begin(self) -> None:
        self._began_s = self._now_s()
        self._covers_all = self._has_frozen and self._began_s - self._covered_all_s >= self._cover_took_s * PAUSE_FACTOR
        if self._covers_all:
            self._collector.unfreeze()

    def _end(self, took_s: float) -> None:
        if self._covers_all:
            self._covered_all_s, self._cover_took_s = self._now_s(), took_s
            self._has_frozen = False
        elif took_s > LONG_S:
            self._has_frozen = True
        else:
            return
        self._collector.freeze()
