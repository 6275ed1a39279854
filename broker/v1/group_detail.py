"""One group: its members with their partitions, and its offsets with their lag."""

import struct
from collections import defaultdict
from collections.abc import Mapping
from functools import partial

from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ...base.topic_partition import TopicPartition
from ...protocol.codec import DecodeError, decode_prefix
from ...protocol.errors import ErrorCode
from ...protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from ...protocol.sentinels import NO_LEADER_EPOCH
from ...views.failures import Misdirected
from ...views.groups import Assignment, GroupDetail, GroupOffset, LagHistory, WaitsFor
from ...views.groups import Member as MemberView
from ..coordinator.group.group import Group
from ..coordinator.group.member import Member
from ..coordinator.group.offsets import OffsetAndMetadata
from ..coordinator.group.states import GroupState
from ..http.http_error import HttpError
from ..lag.group_lags import PartitionLag
from .group_lag import ShownLag, lag_of, verdict_name
from .groups import group_row
from .known_state import KnownState
from .lag_histories import STEP_S
from .own_source import source_of
from .slices import in_slices

__all__ = ["assignment_of", "coordinated_group", "describe_group"]

_VERSION = struct.Struct(">h")
_MOST_AWAITED = 100
_LAST_KNOWN_VERSION = 3

Assignments = dict[str, tuple[Assignment, ...] | None]


def coordinated_group(state: KnownState, group_id: str) -> Group | Misdirected:
    """Return the group, or the broker that coordinates it. Raises HttpError when there is none."""
    registry = state.parts.coordinators.groups.registry
    group = registry.get(group_id)
    if group is not None:
        return group
    cache = state.parts.cache
    if not cache.has_topic(CONSUMER_OFFSETS_TOPIC):
        raise HttpError(404, "there is no such group")
    error = registry.check(group_id)
    if error is ErrorCode.NONE:
        raise HttpError(404, "there is no such group")
    if error is not ErrorCode.NOT_COORDINATOR:
        raise HttpError(503, "the coordinator of the group is starting or stopping")
    leader = cache.leader_of(CONSUMER_OFFSETS_TOPIC, registry.partition_for(group_id))
    coordinator = None if leader is None or leader[0] < 0 else leader[0]
    where = "no broker coordinates the group now" if coordinator is None else f"ask broker {coordinator}"
    return Misdirected(error=f"this broker does not coordinate the group; {where}", coordinator=coordinator)


async def describe_group(state: KnownState, group: Group) -> GroupDetail:
    """Return the group with its members and offsets."""
    lag = await lag_of(state, group)
    blobs = {member.member_id: member.assignment for member in group.members.values()}
    is_shown = group.is_consumer_group and group.state is GroupState.STABLE
    assignments: Assignments = await state.parts.run_in_pool(partial(_decoded, blobs)) if is_shown else {}
    owners = {
        TopicPartition(part.topic, index): member_id
        for member_id, parts in assignments.items()
        for part in parts or ()
        for index in part.partitions
    }
    lags = _lags_of_members(lag, owners)
    awaited = _awaited(group)
    members = [
        _member(state, group, member, assignments.get(member.member_id), lags.get(member.member_id), awaited)
        async for member in in_slices(list(group.members.values()))
    ]
    offsets = [
        _offset(state, topic_partition, record.value, lag.partitions.get(topic_partition), owners.get(topic_partition))
        async for topic_partition, record in in_slices(sorted(group.offsets.committed.items()))
    ]
    return GroupDetail(
        source=source_of(state),
        group=group_row(state, group, lag),
        waits_for=_waits_for(group, awaited),
        members=tuple(members),
        offsets=tuple(offsets),
        history=_history(state, group),
    )


def _history(state: KnownState, group: Group) -> LagHistory:
    points = state.recent.lags.of(group)
    return LagHistory(step_ms=STEP_S * 1000, end_ms=points.end_ms, lag=points.lag, lag_seconds=points.lag_s)


def _decoded(blobs: Mapping[str, bytes]) -> Assignments:
    """Decode the assignments by member id, in a worker. None: the client sent something else."""
    return {member_id: assignment_of(blob) for member_id, blob in blobs.items()}


def assignment_of(blob: bytes) -> tuple[Assignment, ...] | None:
    """Return the partitions of a consumer; None when its leader sent something else."""
    try:
        (version,) = _VERSION.unpack_from(blob)
        decoded, _ = decode_prefix(
            ConsumerProtocolAssignment, blob, min(max(version, 0), _LAST_KNOWN_VERSION), _VERSION.size
        )
    except (struct.error, DecodeError):
        return None
    return tuple(
        Assignment(topic=each.topic, partitions=tuple(sorted(each.partitions)))
        for each in sorted(decoded.assigned_partitions, key=lambda part: part.topic)
    )


def _lags_of_members(lag: ShownLag, owners: Mapping[TopicPartition, str]) -> Mapping[str, int]:
    found: dict[str, int] = defaultdict(int)
    for topic_partition, member_id in owners.items():
        known = lag.partitions.get(topic_partition)
        if known is not None and known.lag is not None:
            found[member_id] += known.lag
    return found


def _awaited(group: Group) -> Mapping[str, None]:
    """Return the ids of the members that the rebalance waits for, in order; empty when none is under way."""
    match group.state:
        case GroupState.PREPARING_REBALANCE:
            return dict.fromkeys([*(each.member_id for each in group.members_not_joined()), *group.pending_members])
        case GroupState.COMPLETING_REBALANCE:
            leader = group.leader_id
            return dict.fromkeys([leader] if leader in group.pending_sync else group.pending_sync)
        case GroupState.STABLE:  # members that do not ask for the partitions that the leader gave them
            return dict.fromkeys(group.pending_sync)
    return {}


def _waits_for(group: Group, awaited: Mapping[str, None]) -> WaitsFor | None:
    if not awaited:
        return None
    is_joining = group.state is GroupState.PREPARING_REBALANCE
    since_ms = group.state_timestamp_ms
    has_limit = since_ms is not None and not group.is_in_initial_delay
    return WaitsFor(
        phase="join" if is_joining else "sync",
        since_ms=since_ms,
        until_ms=since_ms + group.rebalance_timeout_ms if has_limit and since_ms is not None else None,
        members=tuple(awaited)[:_MOST_AWAITED],
    )


def _member(
    state: KnownState,
    group: Group,
    member: Member,
    assignment: tuple[Assignment, ...] | None,
    lag: int | None,
    awaited: Mapping[str, None],
) -> MemberView:
    return MemberView(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.client_host,
        instance_id=member.group_instance_id,
        is_leader=group.is_leader(member.member_id),
        is_awaited=member.member_id in awaited,
        session_timeout_ms=member.session_timeout_ms,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        last_heartbeat_ms=_last_heartbeat_ms(state, member),
        assignment=assignment,
        lag=lag,
    )


def _last_heartbeat_ms(state: KnownState, member: Member) -> int | None:
    """Return when the session began anew: at the last heartbeat, or another request of the member."""
    if not member.session_deadline:
        return None
    ago_s = state.parts.coordinators.groups.now_s() - (member.session_deadline - member.session_timeout_ms / 1000)
    return round(state.clock_ms() - max(ago_s * 1000, 0))


def _offset(
    state: KnownState,
    topic_partition: TopicPartition,
    value: OffsetAndMetadata,
    lag: PartitionLag | None,
    member_id: str | None,
) -> GroupOffset:
    leader = state.parts.cache.leader_of(*topic_partition)
    return GroupOffset(
        topic=topic_partition.topic,
        partition=topic_partition.partition,
        committed=value.offset,
        leader_epoch=None if value.leader_epoch == NO_LEADER_EPOCH else value.leader_epoch,
        metadata=value.metadata,
        commit_ms=value.commit_timestamp_ms,
        expire_ms=value.expire_timestamp_ms,
        start_offset=None if lag is None else lag.start,
        end_offset=None if lag is None else lag.end,
        lag=None if lag is None else lag.lag,
        lag_seconds=None if lag is None or lag.lag_s is None else round(lag.lag_s, 3),
        verdict=None if lag is None else verdict_name(lag.verdict),
        is_offset_lost=None if lag is None or lag.end is None else lag.is_offset_lost,
        member_id=member_id,
        leader=None if leader is None or leader[0] < 0 else leader[0],
    )
