"""The members of a share group (KIP-932): subscriptions, epochs, partitions. Several members share a partition."""

from ...views.groups import Assignment
from ...views.groups import Member as MemberView
from ..coordinator.group.share.describe import DescribedShareMember
from ..coordinator.group.share.share_group import ShareGroup
from ..coordinator.group.share.share_groups import ShareGroups
from .known_state import KnownState
from .shown_members import NO_MEMBERS, ShownMembers
from .slices import in_slices

__all__ = ["share_members"]


async def share_members(state: KnownState, group: ShareGroup) -> ShownMembers:
    """Return the members with their partitions. No partition has an owner."""
    shares = state.parts.coordinators.groups.shares
    if shares is None:
        return NO_MEMBERS
    members = [_member(state, shares, group, member) async for member in in_slices(shares.described(group).members)]
    return ShownMembers(tuple(members), {}, None)


def _member(state: KnownState, shares: ShareGroups, group: ShareGroup, member: DescribedShareMember) -> MemberView:
    metadata = member.metadata
    silent_ms = shares.silent_ms(group, metadata.member_id)
    return MemberView(
        member_id=metadata.member_id,
        client_id=metadata.client_id,
        host=metadata.client_host,
        instance_id=None,
        is_leader=False,
        is_awaited=False,
        session_timeout_ms=shares.session_timeout_ms(group, metadata.member_id),
        rebalance_timeout_ms=0,
        last_heartbeat_ms=None if silent_ms is None else round(state.clock_ms() - silent_ms),
        assignment=tuple(Assignment(topic=each.name, partitions=each.partitions) for each in member.assigned),
        lag=None,
        epoch=member.epoch,
        subscribed_topics=metadata.names,
    )
