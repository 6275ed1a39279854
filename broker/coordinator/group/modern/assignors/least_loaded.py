"""The uniform assignment of a group in which members subscribe to different topics."""

import heapq
from collections.abc import Generator, Mapping, Sequence
from uuid import UUID

from .assignor import Assigned, GroupSpec, in_order

__all__ = ["least_loaded"]

_PER_STEP = 200
_MOST_ROUNDS = 16  # as in Kafka
_Owned = dict[str, dict[UUID, set[int]]]


def least_loaded(spec: GroupSpec) -> Generator[None, None, Assigned]:
    """Every partition with a subscriber has a member, and keeps it unless that evens the loads out."""
    members = in_order(spec.members)
    subscribers: dict[UUID, list[str]] = {}
    owned: _Owned = {}
    loads: dict[str, int] = {}
    taken: dict[UUID, set[int]] = {topic_id: set() for topic_id in spec.partition_counts}
    for member_id in members:
        for topic_id in spec.members[member_id].topic_ids & spec.partition_counts.keys():
            subscribers.setdefault(topic_id, []).append(member_id)
        owned[member_id] = _still_there(spec, member_id, taken)
        loads[member_id] = sum(map(len, owned[member_id].values()))
        yield
    topics = sorted(subscribers, key=lambda topic: _difficulty(spec.partition_counts[topic], topic, subscribers[topic]))
    for topic_id in topics:
        free = [each for each in range(spec.partition_counts[topic_id]) if each not in taken[topic_id]]
        yield from _deal(topic_id, free, subscribers[topic_id], owned, loads)
    for _ in range(_MOST_ROUNDS):
        moved = False
        for topic_id in topics:
            moved = (yield from _even_out(topic_id, subscribers[topic_id], owned, loads)) or moved
        if not moved:
            break
    result: Assigned = {}
    for member_id, own in owned.items():
        result[member_id] = {topic_id: frozenset(partitions) for topic_id, partitions in own.items() if partitions}
        yield
    return result


def _still_there(spec: GroupSpec, member_id: str, taken: dict[UUID, set[int]]) -> dict[UUID, set[int]]:
    """The partitions of the member that exist and belong to its topics. They are noted in ``taken``."""
    member = spec.members[member_id]
    own = {}
    for topic_id in member.target.keys() & member.topic_ids & spec.partition_counts.keys():
        count = spec.partition_counts[topic_id]
        own[topic_id] = {each for each in member.target[topic_id] if each < count} - taken[topic_id]
        taken[topic_id] |= own[topic_id]
    return own


def _difficulty(count: int, topic_id: UUID, subscribers: Sequence[str]) -> tuple[float, int, UUID]:
    """Sorts topics: first those with many partitions for each subscriber, which leave the least choice."""
    return -count / len(subscribers), len(subscribers), topic_id


def _deal(
    topic_id: UUID, free: Sequence[int], subscribers: Sequence[str], owned: _Owned, loads: dict[str, int]
) -> Generator[None]:
    """Give each of these partitions to the subscriber with the lowest load."""
    by_load = [(loads[member_id], number) for number, member_id in enumerate(subscribers)]
    heapq.heapify(by_load)
    for count, partition in enumerate(free, 1):
        load, number = by_load[0]
        heapq.heapreplace(by_load, (load + 1, number))
        loads[subscribers[number]] = load + 1
        owned[subscribers[number]].setdefault(topic_id, set()).add(partition)
        if count % _PER_STEP == 0:
            yield
    yield


def _even_out(
    topic_id: UUID, subscribers: Sequence[str], owned: _Owned, loads: dict[str, int]
) -> Generator[None, None, bool]:
    """Move partitions of the topic from the members with the highest loads to those with the lowest.

    Returns whether any moved.
    """
    low = [(loads[member_id], number) for number, member_id in enumerate(subscribers)]
    high = [(-load, number) for load, number in low if owned[subscribers[number]].get(topic_id)]
    heapq.heapify(low)
    heapq.heapify(high)
    yield
    moved = 0
    while high:
        giver = _top(high, subscribers, loads, sign=-1)
        taker = _top(low, subscribers, loads, sign=1)
        if loads[giver] - loads[taker] < 2:
            break
        partition = max(owned[giver][topic_id])
        owned[giver][topic_id].remove(partition)
        owned[taker].setdefault(topic_id, set()).add(partition)
        loads[giver] -= 1
        loads[taker] += 1
        if not owned[giver][topic_id]:
            heapq.heappop(high)
        moved += 1
        if moved % _PER_STEP == 0:
            yield
    return moved > 0


def _top(heap: list[tuple[int, int]], subscribers: Sequence[str], loads: Mapping[str, int], sign: int) -> str:
    """The first member of the heap, whose entries are made true when they come to the top."""
    while True:
        key, number = heap[0]
        load = sign * loads[subscribers[number]]
        if load == key:
            return subscribers[number]
        heapq.heapreplace(heap, (load, number))
