"""Which share partitions need a state, and the record of a share group when they get or lose it. No clock, no I/O."""

from collections.abc import Generator, Iterable, Mapping, Sequence
from uuid import UUID

from .....protocol.codec import NULL_UUID
from ..modern.assignment import Assignment, assignment_of
from ..modern.topics import TopicLookup
from .records import NamedPartitions, StatePartitions

__all__ = [
    "assignable",
    "assignable_steps",
    "topic_ids_by_name",
    "with_deleted",
    "with_deleting",
    "with_initialized",
    "with_initializing",
    "with_new_partitions",
    "with_new_partitions_steps",
    "without_missing_steps",
    "without_topics",
]

_NONE = NamedPartitions("", frozenset())
_STEP = 200
"""How many topics one step looks up."""
Topics = Mapping[UUID, NamedPartitions]


def assignable(states: StatePartitions, names: Iterable[str], topics: TopicLookup) -> Assignment:
    """The partitions of these topics that members may get: they exist, and have a state."""
    found: dict[UUID, frozenset[int]] = {}
    for name in names:
        topic_id, count = topics.topic_id(name), topics.partition_count(name)
        partitions = states.initialized.get(topic_id, _NONE).partitions
        if topic_id != NULL_UUID and partitions:
            existing = partitions if len(partitions) <= count else frozenset(p for p in partitions if p < count)
            if existing:
                found[topic_id] = existing
    return found


def assignable_steps(
    states: StatePartitions, names: Sequence[str], topics: TopicLookup
) -> Generator[None, None, Assignment]:
    """Like `assignable`, in short steps."""
    found: dict[UUID, frozenset[int]] = {}
    for first in range(0, len(names), _STEP):
        found.update(assignable(states, names[first : first + _STEP], topics))
        yield
    return found


def with_new_partitions(states: StatePartitions, names: Iterable[str], topics: TopicLookup) -> StatePartitions:
    """``states`` with the partitions of these topics that need a state; ``states`` itself when none does."""
    new: dict[UUID, NamedPartitions] = {}
    for name in sorted(names):  # the order decides in which one states are created
        topic_id, count = topics.topic_id(name), topics.partition_count(name)
        if topic_id == NULL_UUID or count == 0:
            continue
        begun = states.initializing.get(topic_id, _NONE).partitions
        known = begun | states.initialized.get(topic_id, _NONE).partitions
        if len(known) < count:
            new[topic_id] = NamedPartitions(name, frozenset(range(count)) - known)
    return with_initializing(states, new) if new else states


def with_new_partitions_steps(
    states: StatePartitions, names: Sequence[str], topics: TopicLookup
) -> Generator[None, None, StatePartitions]:
    """Like `with_new_partitions`, in short steps. ``names``: sorted."""
    for first in range(0, len(names), _STEP):
        states = with_new_partitions(states, names[first : first + _STEP], topics)
        yield
    return states


def with_initializing(states: StatePartitions, new: Topics) -> StatePartitions:
    """The state of these partitions is to be created, also that of topics whose states are being deleted."""
    deleting = {topic_id: name for topic_id, name in states.deleting.items() if topic_id not in new}
    return states._replace(initializing=_joined(states.initializing, new), deleting=deleting)


def with_initialized(states: StatePartitions, partitions: Iterable[tuple[UUID, int]]) -> StatePartitions:
    """The state of these partitions was created. Partitions that nobody waits for any more are left out."""
    done: dict[UUID, NamedPartitions] = {}
    for topic_id, created in assignment_of(partitions).items():
        name, waiting = states.initializing.get(topic_id, _NONE)
        if created & waiting:
            done[topic_id] = NamedPartitions(name, created & waiting)
    left = {
        topic_id: NamedPartitions(topic.name, topic.partitions - done.get(topic_id, _NONE).partitions)
        for topic_id, topic in states.initializing.items()
    }
    initializing = {topic_id: topic for topic_id, topic in left.items() if topic.partitions}
    return states._replace(initializing=initializing, initialized=_joined(states.initialized, done))


def with_deleting(states: StatePartitions, topics: Mapping[UUID, str]) -> StatePartitions:
    """The states of these topics are to be deleted."""
    kept = without_topics(states, topics)
    return kept._replace(deleting={**kept.deleting, **topics})


def with_deleted(states: StatePartitions, topic_ids: Iterable[UUID]) -> StatePartitions:
    """The states of these topics were deleted."""
    gone = frozenset(topic_ids)
    return states._replace(deleting={each: name for each, name in states.deleting.items() if each not in gone})


def without_topics(states: StatePartitions, topic_ids: Iterable[UUID]) -> StatePartitions:
    """Nothing is known of these topics any more."""
    gone = frozenset(topic_ids)
    return StatePartitions(
        {topic_id: topic for topic_id, topic in states.initializing.items() if topic_id not in gone},
        {topic_id: topic for topic_id, topic in states.initialized.items() if topic_id not in gone},
        {topic_id: name for topic_id, name in states.deleting.items() if topic_id not in gone},
    )


def without_missing_steps(states: StatePartitions, topics: TopicLookup) -> Generator[None, None, StatePartitions]:
    """``states`` without topics that do not exist, in short steps; ``states`` itself when all exist.

    A topic may have been deleted while nobody coordinated the group, or when the log took no records.
    """
    noted = (*states.initializing, *states.initialized, *states.deleting)
    missing: set[UUID] = set()
    for first in range(0, len(noted), _STEP):
        missing.update(each for each in noted[first : first + _STEP] if topics.topic_name(each) is None)
        yield
    return without_topics(states, missing) if missing else states


def topic_ids_by_name(states: StatePartitions) -> Mapping[str, frozenset[UUID]]:
    """The ids under which topics were noted, by their names at that time."""
    having = (*states.initializing.items(), *states.initialized.items())
    found: dict[str, frozenset[UUID]] = {}
    for topic_id, name in (*((each, topic.name) for each, topic in having), *states.deleting.items()):
        before = found.get(name)
        if before is None or topic_id not in before:
            found[name] = frozenset((topic_id,)) if before is None else before | {topic_id}
    return found


def _joined(before: Topics, more: Topics) -> Topics:
    """Both, where a topic may have partitions in each."""
    return {
        **before,
        **{
            topic_id: NamedPartitions(name, partitions | before.get(topic_id, _NONE).partitions)
            for topic_id, (name, partitions) in more.items()
        },
    }
