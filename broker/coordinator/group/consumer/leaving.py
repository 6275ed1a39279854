"""Removes members from a consumer group: they leave, or they are fenced because a timeout has passed."""

from ..modern.topics import TopicLookup
from .consumer_group import ConsumerGroup
from .records import GroupEpoch, GroupRecord, RecordKind, Removed, TargetEpoch
from .subscriptions import changed, unused_patterns

__all__ = ["fence", "removal"]


def fence(group: ConsumerGroup, member_id: str, topics: TopicLookup) -> tuple[GroupRecord, ...]:
    """The records that remove a member. The next heartbeat of another member computes the new target."""
    member = group.members[member_id]
    unused = unused_patterns(group.subscriptions, group.patterns, [member.metadata], None)
    after = changed(group.subscriptions, unused, [member.metadata], None)
    epoch = group.epoch + 1
    records: list[GroupRecord] = [*removal(member_id)]
    records += [Removed(RecordKind.PATTERN, resolved.pattern) for resolved in unused]
    records.append(GroupEpoch(epoch, after.topics_hash(topics)))
    if len(group.members) == 1:  # nothing is left to assign: the group is empty, not about to be assigned
        records.append(TargetEpoch(epoch))
    return tuple(records)


def removal(member_id: str) -> tuple[Removed, ...]:
    """The tombstones of a member. Its metadata is the last, so that a prefix leaves a member that can be loaded."""
    kinds = (RecordKind.CURRENT_MEMBER, RecordKind.TARGET_MEMBER, RecordKind.MEMBER)
    return tuple(Removed(kind, member_id) for kind in kinds)
