"""Samples of groups: offsets, lag, verdicts, rebalances, members. Only the group's coordinator gives them.

**How.** The lag of a group is computed once a scrape and kept for the scrape's other series; it is dropped soon after.
A partition whose end is unknown has no sample.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from ...base.timers import Scheduler
from ...base.topic_partition import TopicPartition
from ..coordinator.group.group import Group
from ..lag.group_lags import GroupLag, GroupLags, PartitionLag
from .labels import labels
from .registry import Registry, Sample, Samples
from .series.table import series_named

__all__ = ["add_group_samples"]

_FRESH_S = 1.0
_FRESH_AT_MOST_S = 10.0
_NEW_PASS_AFTER_S = 5.0
_PARTITIONS_IN_A_STEP = 32

GroupValue = Callable[[Group, GroupLag], float | None]
PartitionValue = Callable[[PartitionLag, float], float | None]
"""``(lag, age) -> value``; ``age``: how many seconds ago the lag was computed."""


def add_group_samples(registry: Registry, lags: GroupLags, scheduler: Scheduler, cluster_name: str) -> None:
    """Add a source for each series of groups. ``cluster_name``: for the label of that name."""
    groups = _ScrapedGroups(lags, scheduler)
    in_cluster = {"cluster_name": cluster_name}
    no_member = ',member_host="",consumer_id="",client_id=""'
    exported = partial(_partition_samples, groups, "consumergroup", {}, "")
    lagging = partial(_partition_samples, groups, "group", in_cluster, no_member)
    of_group = partial(_group_samples, groups, "group", in_cluster)
    sources: dict[str, Samples] = {
        "kafka_consumergroup_current_offset": partial(exported, _committed),
        "kafka_consumergroup_lag": partial(exported, _lag),
        "kafka_consumergroup_current_offset_sum": partial(_topic_sums, groups, "consumergroup", {}, _committed),
        "kafka_consumergroup_lag_sum": partial(_topic_sums, groups, "consumergroup", {}, _lag),
        "kafka_consumergroup_members": partial(_members, lags),
        "kafka_consumergroup_group_offset": partial(lagging, _committed),
        "kafka_consumergroup_group_lag": partial(lagging, _lag),
        "kafka_consumergroup_group_lag_seconds": partial(lagging, _lag_seconds),
        "kafka_consumergroup_group_max_lag": partial(of_group, lambda group, lag: lag.max_lag),
        "kafka_consumergroup_group_max_lag_seconds": partial(of_group, lambda group, lag: lag.max_lag_s),
        "kafka_consumergroup_group_sum_lag": partial(of_group, lambda group, lag: lag.lag),
        "kafka_consumergroup_group_topic_sum_lag": partial(_topic_sums, groups, "group", in_cluster, _lag),
        "pybroker_group_verdict": partial(_verdicts, groups),
        "pybroker_group_rebalances_total": partial(_rebalances, lags),
        "pybroker_group_seconds_to_catch_up": partial(_group_samples, groups, "group", {}, _catch_up_seconds),
        "pybroker_group_offset_lost": partial(_partition_samples, groups, "group", {}, "", _offset_lost),
    }
    for name, samples in sources.items():
        registry.add(series_named(name), samples)


class _Scraped(NamedTuple):
    """``at_s``: when the lag was computed."""

    group: Group
    lag: GroupLag
    at_s: float


class _ScrapedGroups:
    """The lags of all groups, computed again when they are older than a scrape takes."""

    def __init__(self, lags: GroupLags, scheduler: Scheduler) -> None:
        self._lags = lags
        self._scheduler = scheduler
        self._scraped: dict[str, _Scraped] = {}
        self.places: dict[TopicPartition, str] = {}
        """The labels that `place` has made."""
        self._pass_began_s = 0.0
        self._last_s = -_NEW_PASS_AFTER_S
        self._drop_is_due = False

    def __iter__(self) -> Iterator[_Scraped | None]:
        """Each group, and None after each step of the computation."""
        for group in list(self._lags.groups()):
            scraped = self._scraped.get(group.group_id)
            if scraped is None or scraped.group is not group or not self._is_fresh(scraped):
                for step in self._lags.steps(group):
                    if step is None:
                        yield None
                    else:
                        scraped = self._keep(group, step)
            assert scraped is not None
            yield scraped

    def age(self, scraped: _Scraped) -> float:
        """How many seconds ago the lag was computed."""
        return self._scheduler.time() - scraped.at_s

    def place(self, topic_partition: TopicPartition) -> str:
        """Make the labels ``topic`` and ``partition``, once a scrape."""
        text = labels(topic=topic_partition.topic, partition=topic_partition.partition)[1:-1]
        self.places[topic_partition] = text
        return text

    def _is_fresh(self, scraped: _Scraped) -> bool:
        """Whether the lag may serve: for a second, or as long as it takes to go through all groups, up to ten seconds.

        Otherwise a scrape that takes long would compute all lags again for each series.
        """
        allowed_s = min(_FRESH_S + 2 * (self._last_s - self._pass_began_s), _FRESH_AT_MOST_S)
        return self.age(scraped) <= allowed_s

    def _keep(self, group: Group, lag: GroupLag) -> _Scraped:
        now_s = self._scheduler.time()
        if now_s - self._last_s > _NEW_PASS_AFTER_S:
            self._pass_began_s = now_s
        self._last_s = now_s
        scraped = self._scraped[group.group_id] = _Scraped(group, lag, now_s)
        if not self._drop_is_due:
            self._drop_is_due = True
            self._scheduler.call_later(_FRESH_AT_MOST_S, self._drop)
        return scraped

    def _drop(self) -> None:
        self._drop_is_due = False
        self._scraped.clear()
        self.places.clear()


def _partition_samples(
    groups: _ScrapedGroups, group_label: str, more: dict[str, str], tail: str, value_of: PartitionValue
) -> Iterator[Sample | None]:
    for scraped in groups:
        if scraped is None:
            yield None
            continue
        head = labels(**more, **{group_label: scraped.lag.group_id})[:-1] + ","
        age = groups.age(scraped)
        for lag in scraped.lag.partitions:
            value = value_of(lag, age)
            if value is not None:
                place = groups.places.get(lag.topic_partition) or groups.place(lag.topic_partition)
                yield f"{head}{place}{tail}}}", value


def _topic_sums(
    groups: _ScrapedGroups, group_label: str, more: dict[str, str], value_of: PartitionValue
) -> Iterator[Sample | None]:
    for scraped in groups:
        if scraped is None:
            yield None
            continue
        sums: defaultdict[str, float] = defaultdict(int)
        for number, lag in enumerate(scraped.lag.partitions, 1):
            value = value_of(lag, 0.0)
            if value is not None:
                sums[lag.topic_partition.topic] += value
            if number % _PARTITIONS_IN_A_STEP == 0:
                yield None
        for topic, total in sums.items():
            yield labels(**more, **{group_label: scraped.lag.group_id}, topic=topic), total


def _group_samples(
    groups: _ScrapedGroups, group_label: str, more: dict[str, str], value_of: GroupValue
) -> Iterator[Sample | None]:
    for scraped in groups:
        value = None if scraped is None else value_of(scraped.group, scraped.lag)
        if scraped is None or value is None:
            yield None
        else:
            yield labels(**more, **{group_label: scraped.lag.group_id}), value


def _verdicts(groups: _ScrapedGroups) -> Iterator[Sample | None]:
    for scraped in groups:
        if scraped is None or not scraped.lag.partitions:
            yield None
        else:
            yield labels(group=scraped.lag.group_id, verdict=scraped.lag.verdict.name.lower()), 1


def _rebalances(lags: GroupLags) -> Iterator[Sample | None]:
    for group in list(lags.groups()):
        for reason, count in list(group.timeline.rebalances.items()):
            yield labels(group=group.group_id, reason=reason.value), count


def _members(lags: GroupLags) -> Iterator[Sample | None]:
    for group in list(lags.groups()):
        yield labels(consumergroup=group.group_id), len(group.members)


def _committed(lag: PartitionLag, age: float) -> float | None:
    return lag.committed


def _lag(lag: PartitionLag, age: float) -> float | None:
    return lag.lag


def _lag_seconds(lag: PartitionLag, age: float) -> float | None:
    """Unread records became older since the lag was computed."""
    return None if lag.lag_s is None else lag.lag_s + age if lag.lag_s else 0.0


def _offset_lost(lag: PartitionLag, age: float) -> float | None:
    return 1 if lag.is_offset_lost else None


def _catch_up_seconds(group: Group, lag: GroupLag) -> float | None:
    return lag.catch_up_s if lag.partitions else None
