"""Assignments as descriptions of groups show them."""

from collections.abc import Sequence
from typing import NamedTuple
from uuid import UUID

from .assignment import Assignment
from .topics import TopicLookup

__all__ = ["DescribedTopic", "described_topics"]


class DescribedTopic(NamedTuple):
    """A topic that exists, and some of its partitions."""

    topic_id: UUID
    name: str
    partitions: tuple[int, ...]


def described_topics(assignments: Sequence[Assignment], topics: TopicLookup) -> tuple[DescribedTopic, ...]:
    """The partitions of all these assignments. Topics that do not exist any more are left out."""
    partitions: dict[UUID, set[int]] = {}
    for assignment in assignments:
        for topic_id, own in assignment.items():
            partitions.setdefault(topic_id, set()).update(own)
    named = ((topic_id, topics.topic_name(topic_id), own) for topic_id, own in partitions.items())
    return tuple(
        DescribedTopic(topic_id, name, tuple(sorted(own))) for topic_id, name, own in named if name is not None
    )
