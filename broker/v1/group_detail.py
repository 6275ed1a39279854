"""One group: its members with their partitions, and its offsets with their lag."""

from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode
from ...protocol.sentinels import NO_LEADER_EPOCH
from ...views.failures import Misdirected
from ...views.groups import GroupDetail, GroupOffset, LagHistory
from ..coordinator.group.base import GroupBase
from ..coordinator.group.consumer.consumer_group import ConsumerGroup
from ..coordinator.group.group import Group
from ..coordinator.group.offsets import OffsetAndMetadata
from ..coordinator.group.share.share_group import ShareGroup
from ..http.http_error import HttpError
from ..lag.group_lags import PartitionLag
from .classic_members import classic_members
from .consumer_members import consumer_members
from .group_lag import ShownLag, lag_of, verdict_name
from .groups import group_row
from .known_state import KnownState
from .lag_histories import STEP_S
from .own_source import source_of
from .share_members import share_members
from .shown_members import NO_MEMBERS, ShownMembers
from .slices import in_slices

__all__ = ["coordinated_group", "describe_group"]


def coordinated_group(state: KnownState, group_id: str) -> GroupBase | Misdirected:
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


async def describe_group(state: KnownState, group: GroupBase) -> GroupDetail:
    """Return the group with its members and offsets."""
    if isinstance(group, ShareGroup):
        await state.recent.share_lags.refresh([group])
    lag = await lag_of(state, group)
    shown = await _members(state, group, lag)
    if isinstance(group, ShareGroup):
        offsets = await _share_offsets(state, lag)
    else:
        offsets = [
            _offset(state, at, record.value, lag.partitions.get(at), shown.owners.get(at))
            async for at, record in in_slices(sorted(group.offsets.committed.items()))
        ]
    return GroupDetail(
        source=source_of(state),
        group=group_row(state, group, lag),
        waits_for=shown.waits_for,
        members=shown.members,
        offsets=tuple(offsets),
        history=_history(state, group),
    )


async def _members(state: KnownState, group: GroupBase, lag: ShownLag) -> ShownMembers:
    if isinstance(group, Group):
        return await classic_members(state, group, lag)
    if isinstance(group, ConsumerGroup):
        return await consumer_members(state, group, lag)
    return await share_members(state, group) if isinstance(group, ShareGroup) else NO_MEMBERS


async def _share_offsets(state: KnownState, lag: ShownLag) -> list[GroupOffset]:
    """Where a share group begins in its partitions. No member owns one."""
    return [
        GroupOffset(
            topic=at.topic,
            partition=at.partition,
            committed=each.committed,
            leader_epoch=None,
            metadata="",
            commit_ms=None,
            expire_ms=None,
            start_offset=None,
            end_offset=each.end,
            lag=each.lag,
            lag_seconds=None,
            verdict=None,
            is_offset_lost=None,
            member_id=None,
            leader=_leader_of(state, at),
        )
        async for at, each in in_slices(lag.partitions.items())
    ]


def _history(state: KnownState, group: GroupBase) -> LagHistory:
    points = state.recent.lags.of(group)
    return LagHistory(step_ms=STEP_S * 1000, end_ms=points.end_ms, lag=points.lag, lag_seconds=points.lag_s)


def _offset(
    state: KnownState,
    topic_partition: TopicPartition,
    value: OffsetAndMetadata,
    lag: PartitionLag | None,
    member_id: str | None,
) -> GroupOffset:
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
        leader=_leader_of(state, topic_partition),
    )


def _leader_of(state: KnownState, topic_partition: TopicPartition) -> int | None:
    leader = state.parts.cache.leader_of(*topic_partition)
    return None if leader is None or leader[0] < 0 else leader[0]
