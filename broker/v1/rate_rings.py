"""The rates of the last hour: one point a second for the broker, one in ten seconds for the busiest topics. Pure.

**Limits.** At most `MOST_TOPICS` topics have a ring. A topic that becomes much busier than the least busy of them takes
its place.
"""

import math
from array import array
from collections.abc import Iterable, Sequence
from typing import NamedTuple

__all__ = ["MOST_TOPICS", "RING_S", "TOPIC_STEP_S", "Points", "RateRing", "TopicRings", "Totals"]

RING_S = 3_600
TOPIC_STEP_S = 10
MOST_TOPICS = 64
_RECENT_S = 10
_WEIGHT_OF_A_STEP = 0.02
_MUCH_BUSIER = 2


class Totals(NamedTuple):
    """Counters since the start; or their growth a second."""

    messages_in: float
    bytes_in: float
    bytes_out: float

    def growth_since(self, earlier: "Totals", seconds: float) -> "Totals":
        """Return the growth a second. A counter that fell, because a topic left this broker, has none."""
        return Totals(*(max(new - old, 0) / seconds for new, old in zip(self, earlier, strict=True)))


_NOTHING = Totals(0, 0, 0)


class Points(NamedTuple):
    """Mean rates of equal spans of time, the oldest first; None where nothing was measured."""

    step_ms: int
    messages_in: tuple[float | None, ...]
    bytes_in: tuple[float | None, ...]
    bytes_out: tuple[float | None, ...]


class RateRing:
    """Rates of the last hour. ``step_s``: seconds between two points."""

    __slots__ = ("_next", "_size", "_step_s", "_values")

    def __init__(self, step_s: int = 1) -> None:
        self._step_s = step_s
        self._size = RING_S // step_s
        self._values = tuple(array("f", [math.nan]) * self._size for _ in Totals._fields)
        self._next = 0

    def add(self, rates: Totals) -> None:
        """Add the point of the last step."""
        for values, rate in zip(self._values, rates, strict=True):
            values[self._next] = rate
        self._next = (self._next + 1) % self._size

    def recent(self) -> Totals | None:
        """Return the mean of the last ten seconds; None when nothing was measured in them."""
        count = max(_RECENT_S // self._step_s, 1)
        means = [_mean([values[self._next - number] for number in range(1, count + 1)]) for values in self._values]
        return None if means[0] is None else Totals(*(mean or 0.0 for mean in means))

    def points(self, count: int) -> Points:
        """Return the hour as at most ``count`` means. The last one ends with the last point that was added."""
        group = max(math.ceil(self._size / count), 1)
        return Points(group * self._step_s * 1000, *(self._means(values, group) for values in self._values))

    def _means(self, values: "array[float]", group: int) -> tuple[float | None, ...]:
        ordered = [*values[self._next :], *values[: self._next]]
        return tuple(_mean(ordered[start : start + group]) for start in range(self._size % group, self._size, group))


class _BusyTopic:
    """A topic with a ring. ``mean``: a moving mean of its bytes in."""

    __slots__ = ("mean", "ring")

    def __init__(self, bytes_in: float) -> None:
        self.ring = RateRing(TOPIC_STEP_S)
        self.mean = bytes_in


class TopicRings:
    """The rings of the busiest topics, and the last rates of every topic with traffic.

    `step` is called for each topic every `TOPIC_STEP_S`, then `end_step`.
    """

    def __init__(self) -> None:
        self._busy: dict[str, _BusyTopic] = {}
        self._totals: dict[str, Totals] = {}
        self._rates: dict[str, Totals] = {}

    def step(self, topic: str, totals: Totals, seconds: float) -> None:
        """The topic's counters are ``totals`` now, ``seconds`` after the last step."""
        before = self._totals.get(topic)
        if before is None:  # the counters of a topic begin with 0 when it comes to this broker
            if not any(totals):
                return
            before = _NOTHING
        rates = totals.growth_since(before, seconds)
        self._totals[topic] = totals
        if any(rates):
            self._rates[topic] = rates
        else:
            self._rates.pop(topic, None)
        busy = self._busy.get(topic) or self._take_ring(topic, rates.bytes_in)
        if busy is not None:
            busy.ring.add(rates)
            busy.mean += (rates.bytes_in - busy.mean) * _WEIGHT_OF_A_STEP

    def end_step(self, topics: Iterable[str]) -> None:
        """Forget the topics that are not among ``topics``."""
        for topic in self._totals.keys() - set(topics):
            del self._totals[topic]
            self._rates.pop(topic, None)
            self._busy.pop(topic, None)

    def _take_ring(self, topic: str, bytes_in: float) -> _BusyTopic | None:
        if not bytes_in:
            return None
        if len(self._busy) >= MOST_TOPICS:
            least = min(self._busy, key=lambda each: self._busy[each].mean)
            if bytes_in <= _MUCH_BUSIER * self._busy[least].mean:
                return None
            del self._busy[least]
        busy = self._busy[topic] = _BusyTopic(bytes_in)
        return busy

    def rates_of(self, topic: str) -> Totals | None:
        """Return the rates of the last step; None: no traffic was seen in it."""
        return self._rates.get(topic)

    def ring_of(self, topic: str) -> RateRing | None:
        busy = self._busy.get(topic)
        return None if busy is None else busy.ring

    def busiest(self, count: int) -> Sequence[str]:
        """Return the topics with most bytes in, the busiest first."""
        return sorted(self._busy, key=lambda each: (-self._busy[each].mean, each))[:count]


def _mean(values: Sequence[float]) -> float | None:
    known = [value for value in values if not math.isnan(value)]
    return round(sum(known) / len(known), 3) if known else None
