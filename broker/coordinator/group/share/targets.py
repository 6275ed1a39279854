"""The target assignment of a share group: what the assignor gets to know."""

from collections.abc import Generator, Iterable, Mapping
from uuid import UUID

from .....protocol.codec import NULL_UUID
from ..modern.assignment import EMPTY, Assignment
from ..modern.assignors.assignor import Assigned, MemberSpec
from ..modern.assignors.simple import ShareSpec, simple_assignment
from ..modern.assignors.steps import Pace
from ..modern.subscribed_topics import TopicChanges
from ..modern.topics import TopicLookup
from .records import MemberMetadata
from .share_group import ShareGroup
from .states import assignable

__all__ = ["assigned_steps", "few_partitions", "up_to_date_steps"]

_NO_PARTITIONS: frozenset[int] = frozenset()
_SMALL = 1_000
"""Members, their topics and partitions, in a group whose target one heartbeat may compute."""


def few_partitions(group: ShareGroup, changes: TopicChanges, topics: TopicLookup) -> Assignment | None:
    """The partitions that members may get when a member has come and ``changes`` have happened, of a small group.

    None: the group is large, so that its target is computed in steps, apart from heartbeats.
    """
    count = len(group.members) + 1 + group.subscribers.count_after(changes)
    if count > _SMALL:
        return None
    partitions = assignable(group.states, group.subscribers.topics_after(changes), topics)
    return partitions if count + sum(map(len, partitions.values())) <= _SMALL else None


def up_to_date_steps(targets: Iterable[Assignment], partitions: Assignment) -> Generator[None, None, bool]:
    """Find out in short steps whether these targets have exactly these partitions, all together."""
    pace = Pace()
    found: dict[UUID, set[int]] = {}
    for target in targets:
        for topic_id, own in target.items():
            found.setdefault(topic_id, set()).update(own)
            if pace.is_over(len(own)):
                yield
    if len(found) != len(partitions):
        return False
    for topic_id, own_of_all in found.items():
        if own_of_all ^ partitions.get(topic_id, _NO_PARTITIONS):
            return False
        if pace.is_over(len(own_of_all)):
            yield
    return True


def assigned_steps(
    targets: Mapping[str, Assignment],
    members: Mapping[str, MemberMetadata],
    partitions: Assignment,
    topics: TopicLookup,
) -> Generator[None, None, Assigned]:
    """Compute the new targets of these members in short steps. ``targets``: the present ones."""
    pace = Pace()
    known: dict[tuple[str, ...], frozenset[UUID]] = {}
    specs: dict[str, MemberSpec] = {}
    for member_id, metadata in members.items():
        names = metadata.names
        if names not in known:
            ids = map(topics.topic_id, names)
            known[names] = frozenset(each for each in ids if each != NULL_UUID and each in partitions)
        specs[member_id] = MemberSpec(None, known[names], targets.get(member_id, EMPTY))
        if pace.is_over(len(names)):
            yield
    return (yield from simple_assignment(ShareSpec(specs, partitions, len(set(known.values())) <= 1)))
