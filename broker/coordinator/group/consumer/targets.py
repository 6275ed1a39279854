"""The target assignment of a consumer group: what the assignor gets to know, and the records of its result."""

from uuid import UUID

from .....protocol.codec import NULL_UUID
from ..modern.assignment import EMPTY, Assignment
from ..modern.assignors.assignor import GroupSpec, MemberSpec
from ..modern.topics import TopicLookup
from .consumer_group import ConsumerGroup
from .records import GroupRecord, MemberMetadata, TargetEpoch, TargetMember
from .subscriptions import Subscriptions

__all__ = ["assignment_input", "is_small", "target_records"]

_SMALL = 1_000
"""Members, partitions, and topics named by members, of a group whose target one heartbeat may compute."""


def is_small(member_count: int, subscriptions: Subscriptions, topics: TopicLookup) -> bool:
    """Whether a group's target is computed within a heartbeat. That of others is computed in steps, apart from it."""
    size = member_count + subscriptions.mentions + len(subscriptions.topics)
    for name in subscriptions.topics if size <= _SMALL else ():
        size += topics.partition_count(name)
    return size <= _SMALL


def assignment_input(group: ConsumerGroup, topics: TopicLookup) -> GroupSpec:
    """The group as assignors see it. Topics that do not exist are left out."""
    ids: dict[str, UUID] = {}
    counts: dict[UUID, int] = {}
    for name in group.subscriptions.topics:
        topic_id, count = topics.topic_id(name), topics.partition_count(name)
        if topic_id != NULL_UUID and count > 0:
            ids[name] = topic_id
            counts[topic_id] = count
    known: dict[tuple[tuple[str, ...], str | None], frozenset[UUID]] = {}

    def topic_ids(metadata: MemberMetadata) -> frozenset[UUID]:
        subscription = (metadata.names, metadata.pattern)
        if subscription not in known:
            resolved = group.patterns.get(metadata.pattern or "")
            names = (*metadata.names, *(() if resolved is None else resolved.topics))
            known[subscription] = frozenset(ids[name] for name in names if name in ids)
        return known[subscription]

    members = {
        member_id: MemberSpec(
            member.metadata.instance_id, topic_ids(member.metadata), group.targets.get(member_id, EMPTY)
        )
        for member_id, member in group.members.items()
    }
    return GroupSpec(members, counts, is_homogeneous=len(set(known.values())) <= 1)


def target_records(group: ConsumerGroup, result: dict[str, Assignment]) -> tuple[GroupRecord, ...]:
    """The records of a target that was computed for the group's present epoch: members whose target differs."""
    changed = (
        TargetMember(member_id, result.get(member_id, EMPTY))
        for member_id in group.members
        if result.get(member_id, EMPTY) != group.target_of(member_id)
    )
    return (*changed, TargetEpoch(group.epoch))
