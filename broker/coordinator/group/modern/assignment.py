"""Partitions by topic: what a member has, or shall get."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import TypeVar
from uuid import UUID

__all__ = ["EMPTY", "Assignment", "assignment_of", "in_order", "pairs", "union"]

Value = TypeVar("Value")

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


def in_order(by_topic: Mapping[UUID, Value]) -> list[tuple[UUID, Value]]:
    """The items by topic id. Python compares two ids in ten times the time of two numbers."""
    return sorted(by_topic.items(), key=_number)


def _number(item: tuple[UUID, object]) -> int:
    return item[0].int


def union(one: Assignment, other: Assignment) -> Assignment:
    """The partitions of both."""
    if not one or not other:  # as for most members, which have nothing to give back
        return one or other
    return {topic_id: one.get(topic_id, _NOTHING) | other.get(topic_id, _NOTHING) for topic_id in {**one, **other}}
