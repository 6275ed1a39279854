"""Whose bulk comes next: each source of it has its turn by how much time its steps have taken.

This is fair queueing (Demers, Keshav, Shenker 1989) with the clock of Goyal, Vin and Cheng (1996): that step comes
first which would be over first, had the sources shared the time evenly. So a short one waits for those under way and no
others, however many long ones wait, and of whom; a long one waits until the short ones that came later have taken as
long. Who was idle has saved nothing up. How long a step takes is known when it is done: until then, as long as the
source's last.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["BulkQueue", "BulkSource", "Turn"]


class BulkSource:
    """One of those who share: a log, or a kind of work. ``expected_s``: so long its first step is thought to take."""

    __slots__ = ("expected_s", "over_s", "steps")

    def __init__(self, expected_s: float = 0.0) -> None:
        self.steps: deque[Callable[[], None]] = deque()
        self.expected_s = expected_s
        self.over_s = 0.0
        """When what it had done would be over, by the queue's clock."""


class Turn(NamedTuple):
    """A step that is to be run now."""

    step: Callable[[], None]
    source: BulkSource
    expected_s: float


class BulkQueue:
    """Steps that wait. Not for several threads at once."""

    def __init__(self) -> None:
        self._sources: list[tuple[float, int, BulkSource]] = []
        self._arrivals = itertools.count()
        self._clock_s = 0.0  # when the step that was begun last would have begun

    def __bool__(self) -> bool:
        return bool(self._sources)

    def put(self, step: Callable[[], None], source: BulkSource) -> None:
        source.steps.append(step)
        if len(source.steps) == 1:
            source.over_s = max(source.over_s, self._clock_s)
            heapq.heappush(self._sources, self._place_of(source))

    def take(self) -> Turn:
        """IndexError: nothing waits. Tell with `note` how long it took."""
        place_s, _, source = heapq.heappop(self._sources)
        while place_s < source.over_s + source.expected_s:  # its last step, not over when it lined up, has taken longer
            place_s, _, source = heapq.heappushpop(self._sources, self._place_of(source))
        self._clock_s = max(self._clock_s, source.over_s)
        step = source.steps.popleft()
        source.over_s += source.expected_s
        if source.steps:
            heapq.heappush(self._sources, self._place_of(source))
        return Turn(step, source, source.expected_s)

    def note(self, turn: Turn, took_s: float) -> None:
        source = turn.source
        source.over_s += took_s - turn.expected_s
        source.expected_s = took_s

    def clear(self) -> None:
        for _, _, source in self._sources:
            source.steps.clear()
        self._sources.clear()

    def _place_of(self, source: BulkSource) -> tuple[float, int, BulkSource]:
        return source.over_s + source.expected_s, next(self._arrivals), source
