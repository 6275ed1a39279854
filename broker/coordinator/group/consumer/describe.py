"""A consumer group as ConsumerGroupDescribe shows it."""

from collections.abc import Sequence
from typing import NamedTuple

from ..modern.described_topics import DescribedTopic, described_topics
from ..modern.topics import TopicLookup
from .consumer_group import ConsumerGroup
from .member import ConsumerMember
from .records import MemberMetadata

__all__ = ["DescribedGroup", "DescribedMember", "described"]


class DescribedMember(NamedTuple):
    """``assigned``: with the partitions that the member still has to give back."""

    metadata: MemberMetadata
    epoch: int
    assigned: tuple[DescribedTopic, ...]
    target: tuple[DescribedTopic, ...]


class DescribedGroup(NamedTuple):
    """A group that exists."""

    group_id: str
    state: str
    epoch: int
    target_epoch: int
    assignor: str
    members: tuple[DescribedMember, ...]


def described(group: ConsumerGroup, offered_assignors: Sequence[str], topics: TopicLookup) -> DescribedGroup:
    """The group as it is in memory."""
    return DescribedGroup(
        group.group_id,
        group.state_name,
        group.epoch,
        group.target_epoch,
        group.subscriptions.assignor(offered_assignors),
        tuple(_member(group, member, topics) for member in group.members.values()),
    )


def _member(group: ConsumerGroup, member: ConsumerMember, topics: TopicLookup) -> DescribedMember:
    current = member.current
    return DescribedMember(
        member.metadata,
        current.epoch,
        described_topics((current.assigned, current.revoking), topics),
        described_topics((group.target_of(member.member_id),), topics),
    )
