"""The lag of groups in the last hour: one point in thirty seconds.

**Limits.** At most `MOST_GROUPS` groups have a ring, which takes 2 KiB. When all are taken, a group that somebody asks
about takes the ring of the group that was asked about longest ago; of groups that nobody asked about, of the one with
the smallest lag. In one step the lags of at most `_MOST_OFFSETS` offsets are computed, those of groups that were asked
about first; the other groups get no point.
"""

import asyncio
import math
from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from ..coordinator.group.base import GroupBase
from ..lag.group_lags import GroupLag
from .slices import in_slices

__all__ = ["MOST_GROUPS", "POINTS", "STEP_S", "LagHistories", "LagPoints"]

STEP_S = 30
POINTS = 120
MOST_GROUPS = 256
_MOST_OFFSETS = 25_000
_UNKNOWN = math.nan


class LagPoints(NamedTuple):
    """The oldest first; None where nothing was measured. ``end_ms``: the time of the last point."""

    end_ms: int
    lag: tuple[int | None, ...]
    lag_s: tuple[float | None, ...]


class _Ring:
    """``asked_s``: when somebody asked last; -inf: nobody did. The index of the last point is that of all rings."""

    __slots__ = ("asked_s", "lag", "lag_s")

    def __init__(self) -> None:
        self.asked_s = -math.inf
        self.lag = array("d", [_UNKNOWN]) * POINTS
        self.lag_s = array("d", [_UNKNOWN]) * POINTS

    def put(self, index: int, lag: GroupLag | None) -> None:
        self.lag[index] = _UNKNOWN if lag is None or lag.lag is None else lag.lag
        self.lag_s[index] = _UNKNOWN if lag is None or lag.max_lag_s is None else lag.max_lag_s


class LagHistories:
    """`run` is a task of the broker. ``groups``: those this broker coordinates. ``steps``: see `GroupLags.steps`."""

    def __init__(
        self,
        groups: Callable[[], Iterable[GroupBase]],
        steps: Callable[[GroupBase], Iterator[GroupLag | None]],
        now_s: Callable[[], float],
        clock_ms: Callable[[], int],
    ) -> None:
        self._groups = groups
        self._steps = steps
        self._now_s = now_s
        self._clock_ms = clock_ms
        self._rings: dict[str, _Ring] = {}
        self._last = 0
        self._sampled_s = now_s()
        self._end_ms = clock_ms()

    async def run(self) -> None:
        """Sample until the task is cancelled."""
        while True:
            await asyncio.sleep(STEP_S)
            await self.sample()

    async def sample(self) -> None:
        """Add a point to each ring. Groups that are new get a ring while there is room."""
        groups = {group.group_id: group async for group in in_slices(self._groups()) if group.offsets.committed}
        for name in self._rings.keys() - groups.keys():
            del self._rings[name]
        for name in groups:
            if len(self._rings) >= MOST_GROUPS:
                break
            self._rings.setdefault(name, _Ring())
        self._advance()
        index, left = self._last, _MOST_OFFSETS
        for name, ring in sorted(self._rings.items(), key=lambda each: -each[1].asked_s):
            left -= len(groups[name].offsets.committed)
            if left >= 0:
                ring.put(index, await self._lag_of(groups[name]))

    def of(self, group: GroupBase) -> LagPoints:
        """Return the history of a group. From now on it has a ring."""
        ring = self._rings.get(group.group_id)
        if ring is None:
            if len(self._rings) >= MOST_GROUPS:
                del self._rings[min(self._rings, key=self._worth)]
            ring = self._rings[group.group_id] = _Ring()
        ring.asked_s = self._now_s()
        after = self._last + 1
        ordered = ([*values[after:], *values[:after]] for values in (ring.lag, ring.lag_s))
        lag, lag_s = ([None if math.isnan(value) else value for value in values] for values in ordered)
        return LagPoints(
            self._end_ms,
            tuple(None if value is None else int(value) for value in lag),
            tuple(None if value is None else round(value, 3) for value in lag_s),
        )

    def _worth(self, name: str) -> tuple[float, float]:
        ring = self._rings[name]
        lag = ring.lag[self._last]
        return ring.asked_s, -1.0 if math.isnan(lag) else lag

    def _advance(self) -> None:
        """Go to the next point. After a pause, the points of the time between are unknown."""
        now_s = self._now_s()
        steps = min(max(round((now_s - self._sampled_s) / STEP_S), 1), POINTS)
        self._sampled_s, self._end_ms = now_s, self._clock_ms()
        for _ in range(steps):
            self._last = (self._last + 1) % POINTS
            for ring in self._rings.values():
                ring.put(self._last, None)

    async def _lag_of(self, group: GroupBase) -> GroupLag | None:
        found = None
        async for step in in_slices(self._steps(group)):
            found = step
        return found
