"""A consumer group as ConsumerGroupDescribe shows it."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from ..modern.assignment import Assignment
from ..modern.topics import TopicLookup
from .consumer_group import ConsumerGroup
from .member import ConsumerMember
from .records import MemberMetadata

__all__ = ["DescribedGroup", "DescribedMember", "DescribedTopic", "described"]


class DescribedTopic(NamedTuple):
    """A topic that exists, and some of its partitions."""

    topic_id: UUID
    name: str
    partitions: tuple[int, ...]


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
        _topics((current.assigned, current.revoking), topics),
        _topics((group.target_of(member.member_id),), topics),
    )


def _topics(assignments: Sequence[Assignment], topics: TopicLookup) -> tuple[DescribedTopic, ...]:
    partitions: dict[UUID, set[int]] = {}
    for assignment in assignments:
        for topic_id, own in assignment.items():
            partitions.setdefault(topic_id, set()).update(own)
    named = ((topic_id, topics.topic_name(topic_id), own) for topic_id, own in partitions.items())
    return tuple(
        DescribedTopic(topic_id, name, tuple(sorted(own))) for topic_id, name, own in named if name is not None
    )
