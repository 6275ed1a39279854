"""The lags of all groups in one scrape: computed once, kept for the scrape's other series, and dropped soon after."""

from collections.abc import Iterator
from typing import NamedTuple

from ...base.timers import Scheduler
from ...base.topic_partition import TopicPartition
from ..coordinator.group.base import GroupBase
from ..lag.group_lags import GroupLag, GroupLags
from ..lag.readings import Readings
from .labels import labels

__all__ = ["Scraped", "ScrapedGroups"]

_SHARED_S = 0.1
"""For so long groups share what they read of a partition."""
_FRESH_S = 1.0
_FRESH_AT_MOST_S = 10.0
_NEW_PASS_AFTER_S = 5.0
_FREED_AT_A_TIME = 500


class Scraped(NamedTuple):
    """``at_s``: when the lag was computed."""

    group: GroupBase
    lag: GroupLag
    at_s: float


class _Places(dict[TopicPartition, str]):
    """The labels ``topic`` and ``partition`` without braces, made when first wanted."""

    def __missing__(self, topic_partition: TopicPartition) -> str:
        topic, partition = topic_partition
        text = self[topic_partition] = labels(topic=topic, partition=partition)[1:-1]
        return text


class ScrapedGroups:
    """The lags of all groups, computed again when they are older than a scrape takes."""

    def __init__(self, lags: GroupLags, scheduler: Scheduler) -> None:
        self._lags = lags
        self._scheduler = scheduler
        self._scraped: dict[str, Scraped] = {}
        self._readings = lags.readings()
        self._readings_since_s = 0.0
        self.places = _Places()
        self._pass_began_s = 0.0
        self._last_s = -_NEW_PASS_AFTER_S
        self._drop_is_due = False

    def __iter__(self) -> Iterator[Scraped | None]:
        """Each group, and None after each step of the computation."""
        for group in self._lags.groups():
            scraped = self._scraped.get(group.group_id)
            if scraped is None or scraped.group is not group or not self._is_fresh(scraped):
                for step in self._lags.steps(group, self._shared()):
                    if step is None:
                        yield None
                    else:
                        scraped = self._keep(group, step)
            assert scraped is not None
            yield scraped

    def age(self, scraped: Scraped) -> float:
        """How many seconds ago the lag was computed."""
        return self._scheduler.time() - scraped.at_s

    def _is_fresh(self, scraped: Scraped) -> bool:
        """Whether the lag may serve: for a second, or as long as it takes to go through all groups, up to ten seconds.

        Otherwise a scrape that takes long would compute all lags again for each series.
        """
        allowed_s = min(_FRESH_S + 2 * (self._last_s - self._pass_began_s), _FRESH_AT_MOST_S)
        return self.age(scraped) <= allowed_s

    def _shared(self) -> Readings:
        now_s = self._scheduler.time()
        if now_s - self._readings_since_s >= _SHARED_S:
            self._readings.clear()
            self._readings_since_s = now_s
        return self._readings

    def _keep(self, group: GroupBase, lag: GroupLag) -> Scraped:
        now_s = self._scheduler.time()
        if now_s - self._last_s > _NEW_PASS_AFTER_S:
            self._pass_began_s = now_s
        self._last_s = now_s
        scraped = self._scraped[group.group_id] = Scraped(group, lag, now_s)
        if not self._drop_is_due:
            self._drop_is_due = True
            self._scheduler.call_later(_FRESH_AT_MOST_S, self._drop)
        return scraped

    def _drop(self) -> None:
        self._drop_is_due = False
        dropped, self._scraped = self._scraped, {}
        self.places.clear()
        self._readings.clear()
        self._free(dropped)

    def _free(self, dropped: dict[str, Scraped]) -> None:
        """Forget some groups, and the others in later turns of the loop: all at once would take milliseconds."""
        freed = 0
        while dropped and freed < _FREED_AT_A_TIME:
            freed += 1 + len(dropped.popitem()[1].lag.partitions)
        if dropped:
            self._scheduler.call_soon(self._free, dropped)
