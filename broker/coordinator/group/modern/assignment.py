"""Partitions by topic: what a member has, or shall get."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from uuid import UUID

__all__ = ["EMPTY", "Assignment", "assignment_of", "pairs", "union"]

Assignment = Mapping[UUID, frozenset[int]]
"""Topic id → partitions. No set is empty, so that equal assignments compare as equal."""

EMPTY: Assignment = MappingProxyType({})

_NOTHING: frozenset[int] = frozenset()


def assignment_of(partitions: Iterable[tuple[UUID, int]]) -> Assignment:
    """The assignment with these partitions."""
    by_topic: dict[UUID, set[int]] = {}
    for topic_id, partition in partitions:
        by_topic.setdefault(topic_id, set()).add(partition)
    return {topic_id: frozenset(own) for topic_id, own in by_topic.items()}


def pairs(assignment: Assignment) -> Iterator[tuple[UUID, int]]:
    """Each partition with its topic."""
    return ((topic_id, partition) for topic_id, own in assignment.items() for partition in own)


def union(one: Assignment, other: Assignment) -> Assignment:
    """The partitions of both."""
    return {topic_id: one.get(topic_id, _NOTHING) | other.get(topic_id, _NOTHING) for topic_id in {**one, **other}}
