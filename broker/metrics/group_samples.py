"""Samples of groups: offsets, lag, verdicts, rebalances, members. Only the group's coordinator gives them.

A partition whose end is unknown has no sample.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ...base.timers import Scheduler
from ..coordinator.group.base import GroupBase
from ..lag.group_lags import GroupLag, GroupLags, PartitionLag
from .labels import labels
from .registry import Lines, Registry, Samples, Step, in_steps
from .scraped_groups import ScrapedGroups
from .series.table import series_named

__all__ = ["add_group_samples"]

_PARTITIONS_IN_A_STEP = 64

GroupValue = Callable[[GroupBase, GroupLag], float | None]
PartitionValue = Callable[[PartitionLag], int | None]
PartitionTexts = Callable[[Sequence[PartitionLag], float], Sequence[str | int | None]]
"""``(lags, age) -> values``, in digits; ``age``: how many seconds ago the lags were computed."""


def add_group_samples(registry: Registry, lags: GroupLags, scheduler: Scheduler, cluster_name: str) -> None:
    """Add a source for each series of groups. ``cluster_name``: for the label of that name."""
    groups = ScrapedGroups(lags, scheduler)
    in_cluster = {"cluster_name": cluster_name}
    no_member = ',member_host="",consumer_id="",client_id=""'
    exported = partial(_partition_samples, groups, "consumergroup", {}, "")
    lagging = partial(_partition_samples, groups, "group", in_cluster, no_member)
    of_group = partial(_group_samples, groups, "group", in_cluster)
    sources: dict[str, Samples] = {
        "kafka_consumergroup_current_offset": partial(exported, _committed_texts),
        "kafka_consumergroup_lag": partial(exported, _lag_texts),
        "kafka_consumergroup_current_offset_sum": partial(_topic_sums, groups, "consumergroup", {}, _committed),
        "kafka_consumergroup_lag_sum": partial(_topic_sums, groups, "consumergroup", {}, _lag),
        "kafka_consumergroup_members": partial(_members, lags),
        "kafka_consumergroup_group_offset": partial(lagging, _committed_texts),
        "kafka_consumergroup_group_lag": partial(lagging, _lag_texts),
        "kafka_consumergroup_group_lag_seconds": partial(lagging, _lag_seconds),
        "kafka_consumergroup_group_max_lag": partial(of_group, lambda group, lag: lag.max_lag),
        "kafka_consumergroup_group_max_lag_seconds": partial(of_group, lambda group, lag: lag.max_lag_s),
        "kafka_consumergroup_group_sum_lag": partial(of_group, lambda group, lag: lag.lag),
        "kafka_consumergroup_group_topic_sum_lag": partial(_topic_sums, groups, "group", in_cluster, _lag),
        "pybroker_group_verdict": partial(_verdicts, groups),
        "pybroker_group_rebalances_total": partial(_rebalances, lags),
        "pybroker_group_seconds_to_catch_up": partial(_group_samples, groups, "group", {}, _catch_up_seconds),
        "pybroker_group_offset_lost": partial(_partition_samples, groups, "group", {}, "", _offsets_lost),
    }
    for name, samples in sources.items():
        registry.add(series_named(name), samples)


def _partition_samples(
    groups: ScrapedGroups, group_label: str, more: dict[str, str], tail: str, texts_of: PartitionTexts
) -> Iterator[Step]:
    places = groups.places
    for scraped in groups:
        if scraped is None:
            yield None
            continue
        head = labels(**more, **{group_label: scraped.lag.group_id})[:-1] + ","
        age = groups.age(scraped)
        for some in in_steps(scraped.lag.partitions, _PARTITIONS_IN_A_STEP):
            yield Lines(
                [
                    f"{head}{places[lag.topic_partition]}{tail}}} {text}"
                    for lag, text in zip(some, texts_of(some, age), strict=True)
                    if text is not None
                ]
            )


def _topic_sums(
    groups: ScrapedGroups, group_label: str, more: dict[str, str], value_of: PartitionValue
) -> Iterator[Step]:
    for scraped in groups:
        if scraped is None:
            yield None
            continue
        sums: dict[str, int] = {}
        for some in in_steps(scraped.lag.partitions, _PARTITIONS_IN_A_STEP):
            for lag in some:
                value = value_of(lag)
                if value is not None:
                    topic = lag.topic_partition.topic
                    sums[topic] = sums.get(topic, 0) + value
            yield None
        for topic, total in sums.items():
            yield labels(**more, **{group_label: scraped.lag.group_id}, topic=topic), total


def _group_samples(
    groups: ScrapedGroups, group_label: str, more: dict[str, str], value_of: GroupValue
) -> Iterator[Step]:
    for scraped in groups:
        value = None if scraped is None else value_of(scraped.group, scraped.lag)
        if scraped is None or value is None:
            yield None
        else:
            yield labels(**more, **{group_label: scraped.lag.group_id}), value


def _verdicts(groups: ScrapedGroups) -> Iterator[Step]:
    for scraped in groups:
        if scraped is None or not scraped.lag.partitions:
            yield None
        else:
            yield labels(group=scraped.lag.group_id, verdict=scraped.lag.verdict.name.lower()), 1


def _rebalances(lags: GroupLags) -> Iterator[Step]:
    for group in lags.groups():
        yield None
        for reason, count in list(group.timeline.rebalances.items()):
            yield labels(group=group.group_id, reason=reason.value), count


def _members(lags: GroupLags) -> Iterator[Step]:
    for group in lags.groups():
        yield labels(consumergroup=group.group_id), group.member_count


def _committed(lag: PartitionLag) -> int | None:
    return lag.committed


def _committed_texts(lags: Sequence[PartitionLag], age: float) -> list[int]:
    return [lag.committed for lag in lags]


def _lag(lag: PartitionLag) -> int | None:
    return lag.lag


def _lag_texts(lags: Sequence[PartitionLag], age: float) -> list[int | None]:
    return [lag.lag for lag in lags]


def _lag_seconds(lags: Sequence[PartitionLag], age: float) -> list[str | None]:
    """Unread records became older since the lag was computed."""
    ages = [lag.lag_s for lag in lags]
    return [f"{lag_s + age:.3f}" if lag_s else None if lag_s is None else "0" for lag_s in ages]


def _offsets_lost(lags: Sequence[PartitionLag], age: float) -> list[int | None]:
    return [1 if lag.is_offset_lost else None for lag in lags]


def _catch_up_seconds(group: GroupBase, lag: GroupLag) -> float | None:
    return lag.catch_up_s if lag.partitions else None
