"""Removes members from a consumer group: they leave, or they are fenced because a timeout has passed."""

from collections.abc import Collection

from ..modern.topics import TopicLookup
from .consumer_group import ConsumerGroup
from .records import GroupEpoch, GroupRecord, RecordKind, Removed, TargetEpoch
from .subscriptions import changed, unused_patterns

__all__ = ["fence", "removal"]


def fence(group: ConsumerGroup, member_ids: Collection[str], topics: TopicLookup) -> tuple[GroupRecord, ...]:
    """The records that remove members. The next heartbeat of another member computes the new target."""
    removed = [group.members[member_id].metadata for member_id in member_ids]
    unused = unused_patterns(group.subscriptions, group.patterns, removed, None)
    after = changed(group.subscriptions, unused, removed, None)
    epoch = group.epoch + 1
    records: list[GroupRecord] = [record for member_id in member_ids for record in removal(member_id)]
    records += [Removed(RecordKind.PATTERN, resolved.pattern) for resolved in unused]
    records.append(GroupEpoch(epoch, after.topics_hash(topics)))
    if len(group.members) == len(member_ids):  # nothing is left to assign: the group is empty, not about to be assigned
        records.append(TargetEpoch(epoch))
    return tuple(records)


def removal(member_id: str) -> tuple[Removed, ...]:
    """The tombstones of a member. Its metadata is the last, so that a prefix leaves a member that can be loaded."""
    kinds = (RecordKind.CURRENT_MEMBER, RecordKind.TARGET_MEMBER, RecordKind.MEMBER)
    return tuple(Removed(kind, member_id) for kind in kinds)
