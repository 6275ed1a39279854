"""Rates from two looks at a cluster. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ..groups.group_partitions import lag_of
from .shapes import BusyBroker, BusyGroup, BusyTopic, TopView

__all__ = ["GroupLook", "LogsLook", "Look", "view_of"]


@frozen
class GroupLook:
    """A group at one moment: its committed offsets by partition. None: not told.

    ``lags``: of a share group, whose coordinator tells them, with None where it is unknown.
    """

    state: str | None
    members: int | None
    committed: Mapping[TopicPartition, int] | None
    lags: Mapping[TopicPartition, int | None] | None = None


@frozen
class LogsLook:
    """The first offset, the next one, and the bytes of the leader's log, of partitions that were told."""

    starts: Mapping[TopicPartition, int]
    ends: Mapping[TopicPartition, int]
    sizes: Mapping[TopicPartition, int]


@frozen
class Look:
    """A cluster at one moment.

    Attributes:
        at_s: the time of a monotonic clock.
        brokers: the address of each broker.
        leaders: of all partitions; None: there is none.
    """

    at_s: float
    time_ms: int
    brokers: Mapping[int, str]
    controller: int | None
    leaders: Mapping[TopicPartition, int | None]
    logs: LogsLook
    groups: Mapping[str, GroupLook]
    problems: tuple[str, ...]


def view_of(first: Look, last: Look) -> TopView:
    """The cluster at the last look, with the rates since the first one."""
    seconds = last.at_s - first.at_s
    written = _growth(first.logs.ends, last.logs.ends, seconds)
    grown = _growth(first.logs.sizes, last.logs.sizes, seconds)
    by_leader: dict[int, list[TopicPartition]] = defaultdict(list)
    by_topic: dict[str, list[TopicPartition]] = defaultdict(list)
    for at, leader in last.leaders.items():
        by_topic[at.topic].append(at)
        if leader is not None:
            by_leader[leader].append(at)
    return TopView(
        source="protocol",
        time_ms=last.time_ms,
        seconds=round(seconds, 3) if seconds > 0 else None,
        brokers=tuple(
            BusyBroker(
                broker=broker,
                address=address,
                is_controller=broker == last.controller,
                leaders=len(by_leader[broker]),
                records_per_s=_sum(written, by_leader[broker]),
                bytes_in_per_s=_sum(grown, by_leader[broker]),
                bytes_out_per_s=None,
                requests_per_s=None,
            )
            for broker, address in sorted(last.brokers.items())
        ),
        topics=tuple(
            BusyTopic(
                topic=topic,
                partitions=len(places),
                records_per_s=_sum(written, places),
                bytes_in_per_s=_sum(grown, places),
                bytes_out_per_s=None,
                size_bytes=sum(last.logs.sizes.get(at, 0) for at in places) if last.logs.sizes else None,
            )
            for topic, places in sorted(by_topic.items())
        ),
        groups=tuple(_group(name, group, first, last, seconds) for name, group in sorted(last.groups.items())),
        problems=last.problems,
    )


def _group(name: str, group: GroupLook, first: Look, last: Look, seconds: float) -> BusyGroup:
    committed = group.committed or {}
    lags = group.lags or {
        at: lag_of(offset, last.logs.starts.get(at), last.logs.ends.get(at)) for at, offset in committed.items()
    }
    known = [each for each in lags.values() if each is not None]
    before = first.groups.get(name)
    read = None
    if before is not None and before.committed is not None and committed:
        read = _sum(_growth(before.committed, committed, seconds), committed)
    return BusyGroup(
        group=name,
        state=group.state,
        members=group.members,
        lag=sum(known) if known else None,
        lag_seconds=None,
        read_per_s=read,
    )


def _growth(
    first: Mapping[TopicPartition, int], last: Mapping[TopicPartition, int], seconds: float
) -> dict[TopicPartition, float]:
    """The growth a second of numbers that did not shrink. A partition that is new is left out."""
    if seconds <= 0:
        return {}
    return {at: (now - first[at]) / seconds for at, now in last.items() if now >= first.get(at, now + 1)}


def _sum(rates: Mapping[TopicPartition, float], places: Iterable[TopicPartition]) -> float | None:
    known = [rates[at] for at in places if at in rates]
    return round(sum(known), 1) if known else None
