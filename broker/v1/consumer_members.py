"""The members of a group of the consumer protocol (KIP-848): subscriptions, epochs, partitions."""

from ...base.topic_partition import TopicPartition
from ...views.groups import Assignment
from ...views.groups import Member as MemberView
from ..coordinator.group.consumer.consumer_group import ConsumerGroup
from ..coordinator.group.consumer.describe import DescribedMember
from ..coordinator.group.consumer.states import MemberState
from .group_lag import ShownLag
from .known_state import KnownState
from .shown_members import ShownMembers, lags_of_members
from .slices import in_slices

__all__ = ["consumer_members"]


async def consumer_members(state: KnownState, group: ConsumerGroup, lag: ShownLag) -> ShownMembers:
    """Return the members with their partitions, among them those that they still have to give back."""
    described = state.parts.coordinators.groups.consumers.described(group)
    owners = {
        TopicPartition(topic.name, index): member.metadata.member_id
        for member in described.members
        for topic in member.assigned
        for index in topic.partitions
    }
    lags = lags_of_members(lag, owners)
    members = [
        _member(state, group, member, lags.get(member.metadata.member_id))
        async for member in in_slices(described.members)
    ]
    return ShownMembers(tuple(members), owners, None)


def _member(state: KnownState, group: ConsumerGroup, member: DescribedMember, lag: int | None) -> MemberView:
    consumers = state.parts.coordinators.groups.consumers
    metadata, known = member.metadata, group.members.get(member.metadata.member_id)
    silent_ms = None if known is None else consumers.silent_ms(group, metadata.member_id)
    return MemberView(
        member_id=metadata.member_id,
        client_id=metadata.client_id,
        host=metadata.client_host,
        instance_id=metadata.instance_id,
        is_leader=False,
        is_awaited=known is not None and known.current.state is MemberState.UNREVOKED_PARTITIONS,
        session_timeout_ms=0 if known is None else consumers.session_timeout_ms(group, metadata.member_id),
        rebalance_timeout_ms=metadata.rebalance_timeout_ms,
        last_heartbeat_ms=None if silent_ms is None else round(state.clock_ms() - silent_ms),
        assignment=tuple(Assignment(topic=each.name, partitions=each.partitions) for each in member.assigned),
        lag=lag,
        epoch=member.epoch,
        subscribed_topics=metadata.names,
        subscribed_pattern=metadata.pattern or None,
    )
