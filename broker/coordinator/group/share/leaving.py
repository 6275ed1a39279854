"""Removes members from a share group: they leave, or their session ends."""

from ..modern.records import GroupEpoch
from ..modern.topics import TopicLookup
from .records import RecordKind, Removed, ShareRecord
from .share_group import ShareGroup

__all__ = ["fence"]


def fence(group: ShareGroup, member_id: str, topics: TopicLookup) -> tuple[ShareRecord, ...]:
    """The records that remove a member. The next heartbeat of another member computes the new target.

    The member's metadata is removed last, so that a prefix leaves a member that can be loaded.
    """
    kinds = (RecordKind.CURRENT_MEMBER, RecordKind.TARGET_MEMBER, RecordKind.MEMBER)
    removed = (Removed(kind, member_id) for kind in kinds)
    changes = group.subscribers.changes_between(group.members[member_id].metadata.names, ())
    return (*removed, GroupEpoch(group.epoch + 1, group.subscribers.hash_after(changes, topics)))
