"""Makes a consumer group a classic one, when its last member that uses the consumer protocol goes. No clock, no I/O.

The members keep their ids, and what they have. The epoch becomes the generation. Kafka gives them what the target gave
them, also partitions that other members still have.
"""

from collections.abc import Collection, Sequence

from ..consumer.consumer_group import ConsumerGroup
from ..consumer.records import MemberMetadata
from ..group import Group
from ..member import Member
from ..modern.assignment import union
from ..modern.topics import TopicLookup
from ..states import GroupState
from ..subscriptions import CONSUMER_PROTOCOL_TYPE
from .client_protocol import assignment_bytes

__all__ = ["classic_group", "has_only_classic_members"]


def has_only_classic_members(group: ConsumerGroup, without: Collection[str]) -> bool:
    """Whether members are left when these go, and all of them use the classic protocol."""
    count = len(group.members) - len(without)
    return count > 0 and group.classic.count - sum(group.members[each].is_classic for each in without) == count


def classic_group(
    group: ConsumerGroup, without: Sequence[str], newcomer: MemberMetadata | None, topics: TopicLookup, now_ms: int
) -> Group | None:
    """The stable classic group without some members, which nobody leads yet. None when its members share no protocol.

    ``newcomer``: a static member that returns in place of the one that goes, and takes over its assignment.
    """
    classic = Group(group.group_id, now_ms, GroupState.STABLE)
    classic.generation_id = group.epoch
    gone = frozenset(without)
    for member_id, member in group.members.items():
        if member_id not in gone:
            classic.add(_member(member.metadata))
    if newcomer is not None:
        classic.add(_member(newcomer))
    classic.leader_id = None
    any_member = next(iter(classic.members.values()))
    if not classic.supports(CONSUMER_PROTOCOL_TYPE, any_member.protocols):
        return None
    classic.protocol_name = classic.select_protocol()
    classic.refresh_subscribed_topics()
    for member_id, each in classic.members.items():
        is_newcomer = newcomer is not None and member_id == newcomer.member_id
        current = group.members[without[0] if is_newcomer else member_id].current
        owned = union(current.assigned, current.revoking)
        classic.assign(each, assignment_bytes(owned, each.metadata(classic.protocol_name), topics))
    return classic


def _member(metadata: MemberMetadata) -> Member:
    assert metadata.classic is not None
    return Member(
        metadata.member_id,
        metadata.instance_id,
        metadata.client_id,
        metadata.client_host,
        metadata.rebalance_timeout_ms,
        metadata.classic.session_timeout_ms,
        CONSUMER_PROTOCOL_TYPE,
        metadata.classic.protocols,
    )
