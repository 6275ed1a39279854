"""Parts of the assignors, as short steps: sorting, topics' subscribers, and partitions that members still have."""

import heapq
from collections.abc import Callable, Generator, Iterable, Mapping
from itertools import chain
from operator import attrgetter
from typing import Any, TypeVar
from uuid import UUID

from .assignor import GroupSpec, MemberSpec

__all__ = ["Pace", "members_in_order", "readers", "sorted_in_steps", "still_there", "topics_in_order"]

_PER_STEP = 200
_AT_ONCE = 8
"""How many numbers one operation on a list or set of them handles in the time of an item."""

T = TypeVar("T")


class Pace:
    """Counts the items that a step has handled, and says when the step has to end."""

    def __init__(self) -> None:
        self._left = _PER_STEP

    def is_over(self, numbers: int = 0) -> bool:
        """Whether to yield now: after an item, and an operation on so many numbers at once."""
        self._left -= 1 + numbers // _AT_ONCE
        if self._left > 0:
            return False
        self._left = _PER_STEP
        return True


def sorted_in_steps(items: Iterable[T], key: Callable[[T], Any], pace: Pace) -> Generator[None, None, list[T]]:
    """Like ``sorted``."""
    keyed: list[tuple[Any, int, T]] = []
    runs: list[list[tuple[Any, int, T]]] = []
    for number, item in enumerate(items):
        keyed.append((key(item), number, item))
        if pace.is_over():
            runs.append(sorted(keyed))
            keyed.clear()
            yield
    runs.append(sorted(keyed))
    result = []
    for _, _, item in heapq.merge(*runs):
        result.append(item)
        if pace.is_over():
            yield
    return result


def members_in_order(members: Mapping[str, MemberSpec], pace: Pace) -> Generator[None, None, list[str]]:
    """The member ids in an order that stays: static members by their instance ids, then the others by theirs."""

    def key(member_id: str) -> tuple[bool, str, str]:
        instance_id = members[member_id].instance_id
        return instance_id is None, instance_id or "", member_id

    return sorted_in_steps(members, key, pace)


def topics_in_order(topic_ids: Iterable[UUID], pace: Pace) -> Generator[None, None, list[UUID]]:
    return sorted_in_steps(topic_ids, attrgetter("int"), pace)


def readers(spec: GroupSpec, members: Iterable[str], pace: Pace) -> Generator[None, None, dict[UUID, list[int]]]:
    """The subscribers of each topic that exists, as places among ``members``, in order.

    Topics may share a list. Members that share a set of topics cost little.
    """
    kinds: dict[int, tuple[frozenset[UUID], list[int]]] = {}  # by identity, because the hash of a large set takes long
    for number, member_id in enumerate(members):
        topic_ids = spec.members[member_id].topic_ids
        kinds.setdefault(id(topic_ids), (topic_ids, []))[1].append(number)
        if pace.is_over():
            yield
    by_kind: dict[UUID, list[list[int]]] = {}
    for topic_ids, numbers in kinds.values():
        for topic_id in topic_ids:
            if topic_id in spec.partition_counts:
                by_kind.setdefault(topic_id, []).append(numbers)
            if pace.is_over():
                yield
    result: dict[UUID, list[int]] = {}
    for topic_id, lists in by_kind.items():
        merged = result[topic_id] = lists[0] if len(lists) == 1 else sorted(chain.from_iterable(lists))
        if pace.is_over(0 if merged is lists[0] else len(merged)):
            yield
    return result


def still_there(
    spec: GroupSpec, member: MemberSpec, taken: dict[UUID, set[int]], pace: Pace
) -> Generator[None, None, dict[UUID, list[int]]]:
    """The member's partitions that exist, are of its topics, and are not ``taken`` yet. They are taken then."""
    own: dict[UUID, list[int]] = {}
    for topic_id, partitions in member.target.items():
        if topic_id in member.topic_ids and topic_id in spec.partition_counts:
            of_topic = taken.setdefault(topic_id, set())
            count = spec.partition_counts[topic_id]
            found = sorted(each for each in partitions - of_topic if each < count)
            if found:
                own[topic_id] = found
                of_topic.update(found)
        if pace.is_over(len(partitions)):
            yield
    return own
