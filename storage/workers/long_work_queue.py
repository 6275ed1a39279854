"""The queue of long work: its sources share the time of the workers evenly.

How: fair queueing (Demers, Keshav, Shenker 1989) with the clock of Goyal, Vin and Cheng (1996). The step with the
earliest virtual finish time runs first. So a short step waits only for running steps, however many long steps are
queued. A long step waits until later short steps have taken as much time. An idle source saves up nothing.
The duration of a step is known when it is done; until then it is estimated as that of the source's last step.
"""

from __future__ import annotations

import heapq
import itertools
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

__all__ = ["DueStep", "LongWorkQueue", "LongWorkSource"]


class LongWorkSource:
    """A source of steps: a log, or a kind of work. ``expected_s`` is the estimated duration of its first step."""

    __slots__ = ("expected_s", "over_s", "steps")

    def __init__(self, expected_s: float = 0.0) -> None:
        self.steps: deque[Callable[[], None]] = deque()
        self.expected_s = expected_s
        self.over_s = 0.0
        """Virtual finish time of its steps so far, on the queue's clock."""


class DueStep(NamedTuple):
    """A step to run now, with its source and its estimated duration."""

    step: Callable[[], None]
    source: LongWorkSource
    expected_s: float


class LongWorkQueue:
    """The queued steps of all sources. Not thread-safe."""

    def __init__(self) -> None:
        self._sources: list[tuple[float, int, LongWorkSource]] = []
        self._arrivals = itertools.count()
        self._clock_s = 0.0  # virtual start time of the last started step

    def __bool__(self) -> bool:
        return bool(self._sources)

    def put(self, step: Callable[[], None], source: LongWorkSource) -> None:
        source.steps.append(step)
        if len(source.steps) == 1:
            source.over_s = max(source.over_s, self._clock_s)
            heapq.heappush(self._sources, self._place_of(source))

    def take(self) -> DueStep:
        """Remove and return the next step; the caller reports its duration with `note`.

        Raises IndexError when empty.
        """
        place_s, _, source = heapq.heappop(self._sources)
        while place_s < source.over_s + source.expected_s:  # its previous step has taken longer than estimated
            place_s, _, source = heapq.heappushpop(self._sources, self._place_of(source))
        self._clock_s = max(self._clock_s, source.over_s)
        step = source.steps.popleft()
        source.over_s += source.expected_s
        if source.steps:
            heapq.heappush(self._sources, self._place_of(source))
        return DueStep(step, source, source.expected_s)

    def note(self, due: DueStep, took_s: float) -> None:
        source = due.source
        source.over_s += took_s - due.expected_s
        source.expected_s = took_s

    def clear(self) -> None:
        for _, _, source in self._sources:
            source.steps.clear()
        self._sources.clear()

    def _place_of(self, source: LongWorkSource) -> tuple[float, int, LongWorkSource]:
        return source.over_s + source.expected_s, next(self._arrivals), source
