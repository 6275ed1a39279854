"""The target assignment of a consumer group: what the assignor gets to know."""

from collections.abc import Generator, Mapping
from uuid import UUID

from .....protocol.codec import NULL_UUID
from ..modern.assignment import EMPTY
from ..modern.assignors.assignor import GroupSpec, MemberSpec, run_through
from ..modern.assignors.steps import Pace
from ..modern.topics import TopicLookup
from .consumer_group import ConsumerGroup
from .records import MemberMetadata
from .subscriptions import SubscriptionDraft

__all__ = ["assignment_input", "input_steps", "is_small"]

_SMALL = 1_000
"""Members, partitions, and topics named by members, of a group whose target one heartbeat may compute."""


def is_small(member_count: int, subscriptions: SubscriptionDraft, topics: TopicLookup) -> bool:
    """Whether a group's target is computed within a heartbeat. That of others is computed in steps, apart from it."""
    size = member_count + subscriptions.mentions + subscriptions.topic_count()
    for name in subscriptions.topics() if size <= _SMALL else ():
        size += topics.partition_count(name)
    return size <= _SMALL


def input_steps(group: ConsumerGroup, topics: TopicLookup) -> Generator[None, None, GroupSpec]:
    """Find out, in short steps, how assignors see the group. Topics that do not exist are left out.

    A result counts only while the group has the epoch that it had at the first step.
    """
    pace = Pace()
    ids: dict[str, UUID] = {}
    counts: dict[UUID, int] = {}
    for name in tuple(group.subscriptions.topics):
        topic_id, count = topics.topic_id(name), topics.partition_count(name)
        if topic_id != NULL_UUID and count > 0:
            ids[name] = topic_id
            counts[topic_id] = count
        if pace.is_over():
            yield
    known: dict[tuple[tuple[str, ...], str | None], frozenset[UUID]] = {}
    members: dict[str, MemberSpec] = {}
    first: frozenset[UUID] | None = None
    is_homogeneous = True
    for member_id, member in tuple(group.members.items()):
        metadata = member.metadata
        subscription = (metadata.names, metadata.pattern)
        topic_ids = known.get(subscription)
        if topic_ids is None:
            topic_ids = known[subscription] = yield from _topic_ids(group, metadata, ids, pace)
            first = topic_ids if first is None else first
            is_homogeneous = is_homogeneous and topic_ids == first
        members[member_id] = MemberSpec(metadata.instance_id, topic_ids, group.targets.get(member_id, EMPTY))
        if pace.is_over(len(metadata.names)):
            yield
    return GroupSpec(members, counts, is_homogeneous)


def _topic_ids(
    group: ConsumerGroup, metadata: MemberMetadata, ids: Mapping[str, UUID], pace: Pace
) -> Generator[None, None, frozenset[UUID]]:
    """The ids of the existing topics that a member subscribes to."""
    resolved = group.patterns.get(metadata.pattern or "")
    found = []
    for name in (*metadata.names, *(() if resolved is None else resolved.topics)):
        if name in ids:
            found.append(ids[name])
        if pace.is_over():
            yield
    return frozenset(found)


def assignment_input(group: ConsumerGroup, topics: TopicLookup) -> GroupSpec:
    """The group as assignors see it, found out at once."""
    return run_through(input_steps(group, topics))
