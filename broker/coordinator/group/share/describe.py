"""A share group as ShareGroupDescribe shows it."""

from typing import NamedTuple

from ..modern.described_topics import DescribedTopic, described_topics
from ..modern.topics import TopicLookup
from .records import MemberMetadata, ShareMember
from .share_group import ShareGroup

__all__ = ["DescribedShareGroup", "DescribedShareMember", "described"]


class DescribedShareMember(NamedTuple):
    """A member, and the partitions that it has."""

    metadata: MemberMetadata
    epoch: int
    assigned: tuple[DescribedTopic, ...]


class DescribedShareGroup(NamedTuple):
    """A group that exists."""

    group_id: str
    state: str
    epoch: int
    target_epoch: int
    members: tuple[DescribedShareMember, ...]


def described(group: ShareGroup, topics: TopicLookup) -> DescribedShareGroup:
    """The group as it is in memory."""

    def member(each: ShareMember) -> DescribedShareMember:
        assigned = described_topics((each.current.assigned,), topics)
        return DescribedShareMember(each.metadata, each.current.epoch, assigned)

    members = tuple(map(member, group.members.values()))
    return DescribedShareGroup(group.group_id, group.state_name, group.epoch, group.target_epoch, members)
