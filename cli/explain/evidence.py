"""The evidence about a group: several looks at it by Kafka's protocol, and what its pybroker tells."""

import time
from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple

from ...base.command_parser import CommandError
from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...protocol.sentinels import LATEST
from ...views.groups import TimelineEvent
from ..connecting.v1_reader import V1Reader, v1_reader
from ..groups.described_groups import DEAD, DescribedGroup, described_group, missing_group
from ..groups.group_offsets import offsets_of
from ..groups.group_partitions import group_partitions, with_lag_seconds
from ..groups.partition_offsets import READ_COMMITTED, leaders_of, offsets_at
from ..groups.shapes import GroupMember, GroupPartition
from ..groups.timeline import timeline_of
from ..verb import Call
from .open_transactions import open_transactions
from .surroundings import Surroundings, clients_told, surroundings_of

__all__ = ["AT_REST", "REBALANCING", "Evidence", "Look", "Told", "gathered", "member_name"]

REBALANCING = ("PreparingRebalance", "CompletingRebalance", "Assigning", "Reconciling")
AT_REST = ("Stable", "Empty", DEAD)
_STEP_S = 1.0


class Look(NamedTuple):
    """The group at one moment. ``at_s``: of a monotonic clock."""

    at_s: float
    group: DescribedGroup
    partitions: dict[TopicPartition, GroupPartition]


@frozen
class Told:
    """The words of the broker that coordinates the group. ``now_ms``: its clock."""

    broker_id: int | None
    now_ms: int
    group: Mapping[str, Any]
    waits_for: Mapping[str, Any] | None
    members: Mapping[str, Mapping[str, Any]]
    events: tuple[TimelineEvent, ...]


@frozen
class Evidence:
    """``leaders``: of all partitions of the topics that are subscribed to. ``transactions``: what holds a partition's
    readers back. ``told``: None without ``--v1``. ``stuck_after_s``: a rebalance that takes longer is trouble."""

    looks: tuple[Look, ...]
    leaders: Mapping[TopicPartition, int | None]
    transactions: Mapping[TopicPartition, str]
    told: Told | None
    stuck_after_s: float
    surroundings: Surroundings = field(default_factory=Surroundings)

    @property
    def first(self) -> Look:
        return self.looks[0]

    @property
    def last(self) -> Look:
        return self.looks[-1]

    @property
    def watched_s(self) -> float:
        return self.last.at_s - self.first.at_s

    @property
    def lag(self) -> int | None:
        known = [each.lag for each in self.last.partitions.values() if each.lag is not None]
        return sum(known) if known else None

    @property
    def lag_s(self) -> float | None:
        return max((each.lag_seconds for each in self.last.partitions.values() if each.lag_seconds), default=None)

    @property
    def source(self) -> str:
        return "protocol" if self.told is None else f"protocol, broker {self.told.broker_id}"


def gathered(call: Call, name: str) -> Evidence:
    """Look at the group, for some time if it has lag or rebalances. Raises CommandError when it does not exist."""
    cluster, options = call.cluster, call.options
    reader = v1_reader(options)
    looks = [_look(cluster, name)]
    told = None if reader is None else _told(call, reader, name)
    clients = clients_told(reader)
    until_s = looks[0].at_s + options.watch
    while _is_worth_watching(looks, told) and time.monotonic() < until_s:
        time.sleep(min(_STEP_S, max(0.0, until_s - time.monotonic())))
        looks.append(_look(cluster, name))
    looks[-1] = looks[-1]._replace(
        partitions={
            TopicPartition(each.topic, each.partition): each
            for each in with_lag_seconds(cluster, looks[-1].partitions.values())
        }
    )
    if reader is not None and len(looks) > 1:
        told = _told(call, reader, name) or told
    members = looks[-1].group.members
    leaders = leaders_of(cluster, {topic for member in members for topic in _subscribed(member)})
    places = {at: row.leader for at, row in looks[-1].partitions.items()} | leaders
    leaderless = [at for at, leader in places.items() if leader is None]
    return Evidence(
        tuple(looks),
        leaders,
        _transactions(cluster, looks[-1]),
        told,
        options.stuck_after,
        surroundings_of(cluster, name, members, leaderless, clients, clients_told(reader)),
    )


def member_name(member: GroupMember) -> str:
    """A member as people know it."""
    instance = f", instance {member.instance_id}" if member.instance_id else ""
    return f"{member.client_id} at {member.host} (member {member.member_id}{instance})"


def _subscribed(member: GroupMember) -> set[str]:
    """The topics of a member. With a pattern they are those that the coordinator found: it assigns all of them."""
    named = set(member.topics or ())
    return named if member.pattern is None else named | {part.topic for part in member.assignment or ()}


def _look(cluster: AdminCluster, name: str) -> Look:
    group = described_group(cluster, name)
    committed = offsets_of(cluster, group)
    if group.state == DEAD and not committed:
        raise missing_group(cluster, name)
    partitions = group_partitions(cluster, group, committed)
    return Look(time.monotonic(), group, {TopicPartition(each.topic, each.partition): each for each in partitions})


def _is_worth_watching(looks: list[Look], told: Told | None) -> bool:
    """A group that has read everything, and one that nobody reads with, do not change."""
    last = looks[-1]
    if last.group.state not in AT_REST:
        return told is None or not told.waits_for
    return bool(last.group.members) and any(each.lag or each.committed is None for each in last.partitions.values())


def _transactions(cluster: AdminCluster, look: Look) -> Mapping[TopicPartition, str]:
    """Where the next record to read belongs to an open transaction, so that readers of committed records wait."""
    lagging = {at: each for at, each in look.partitions.items() if each.lag and each.leader is not None}
    stable, _ = offsets_at(cluster, dict.fromkeys(lagging, LATEST), READ_COMMITTED)
    held = {
        at: each.leader
        for at, each in lagging.items()
        if at in stable and each.committed is not None and stable[at] <= each.committed and each.leader is not None
    }
    return open_transactions(cluster, held)


def _told(call: Call, reader: V1Reader, name: str) -> Told | None:
    try:
        detail = reader.document("groups", name)
        timeline = timeline_of(reader, name)
    except CommandError as error:
        call.output.say(str(error))
        return None
    source = detail.get("source") or {}
    return Told(
        broker_id=source.get("broker_id"),
        now_ms=int(source.get("time_ms") or 0),
        group=detail.get("group") or {},
        waits_for=detail.get("waits_for"),
        members={each["member_id"]: each for each in detail.get("members", ())},
        events=timeline.events,
    )
