"""The members of a classic group: their partitions, and for which of them a rebalance waits."""

import struct
from collections.abc import Mapping
from functools import partial

from ...base.topic_partition import TopicPartition
from ...protocol.codec import DecodeError, decode_prefix
from ...protocol.messages.consumer_protocol import ConsumerProtocolAssignment
from ...views.groups import Assignment, WaitsFor
from ...views.groups import Member as MemberView
from ..coordinator.group.group import Group
from ..coordinator.group.member import Member
from ..coordinator.group.states import GroupState
from .group_lag import ShownLag
from .known_state import KnownState
from .shown_members import ShownMembers, lags_of_members
from .slices import in_slices

__all__ = ["assignment_of", "classic_members"]

_VERSION = struct.Struct(">h")
_MOST_AWAITED = 100
_LAST_KNOWN_VERSION = 3

Assignments = dict[str, tuple[Assignment, ...] | None]


async def classic_members(state: KnownState, group: Group, lag: ShownLag) -> ShownMembers:
    """Return the members with their partitions."""
    blobs = {member.member_id: member.assignment for member in group.members.values()}
    is_shown = group.is_consumer_group and group.state is GroupState.STABLE
    assignments: Assignments = await state.parts.run_in_pool(partial(_decoded, blobs)) if is_shown else {}
    owners = {
        TopicPartition(part.topic, index): member_id
        for member_id, parts in assignments.items()
        for part in parts or ()
        for index in part.partitions
    }
    lags = lags_of_members(lag, owners)
    awaited = _awaited(group)
    members = [
        _member(state, group, member, assignments.get(member.member_id), lags.get(member.member_id), awaited)
        async for member in in_slices(list(group.members.values()))
    ]
    return ShownMembers(tuple(members), owners, _waits_for(group, awaited))


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
