"""The uniform assignment of a group in which members subscribe to different topics."""

import heapq
from collections.abc import Generator, Sequence
from uuid import UUID

from .assignor import Assigned, GroupSpec
from .steps import Pace, members_in_order, readers, sorted_in_steps, still_there

__all__ = ["least_loaded"]

_MOST_ROUNDS = 16  # as in Kafka
_Owners = dict[UUID, dict[int, list[int]]]
"""Topic → place of the member among all members → its partitions, those last that it has got last."""


def least_loaded(spec: GroupSpec) -> Generator[None, None, Assigned]:
    """Every partition with a subscriber has a member, and keeps it unless that evens the loads out."""
    pace = Pace()
    members = yield from members_in_order(spec.members, pace)
    subscribers = yield from readers(spec, members, pace)
    topics = yield from sorted_in_steps(
        subscribers, lambda topic_id: _difficulty(topic_id, spec, subscribers[topic_id]), pace
    )
    owners: _Owners = {topic_id: {} for topic_id in topics}
    loads = [0] * len(members)
    taken: dict[UUID, set[int]] = {}
    for number, member_id in enumerate(members):
        own = yield from still_there(spec, spec.members[member_id], taken, pace)
        for topic_id, partitions in own.items():
            owners[topic_id][number] = partitions
            loads[number] += len(partitions)
            if pace.is_over():
                yield
    for topic_id in topics:
        free = sorted(set(range(spec.partition_counts[topic_id])).difference(taken.get(topic_id, ())))
        if free:
            yield from _deal(free, subscribers[topic_id], owners[topic_id], loads, pace)
        if pace.is_over(spec.partition_counts[topic_id]):
            yield
    for _ in range(_MOST_ROUNDS):
        moved = 0
        for topic_id in topics:
            moved += yield from _even_out(subscribers[topic_id], owners[topic_id], loads, pace)
        if not moved:
            break
    assigned: list[dict[UUID, frozenset[int]]] = [{} for _ in members]
    for topic_id, of_topic in owners.items():
        for number, partitions in of_topic.items():
            assigned[number][topic_id] = frozenset(partitions)
            if pace.is_over(len(partitions)):
                yield
    return dict(zip(members, assigned, strict=True))


def _difficulty(topic_id: UUID, spec: GroupSpec, subscribers: Sequence[int]) -> tuple[float, int, int]:
    """Sorts topics: first those with many partitions for each subscriber, which leave the least choice."""
    return -spec.partition_counts[topic_id] / len(subscribers), len(subscribers), topic_id.int


def _deal(
    free: Sequence[int], subscribers: Sequence[int], owners: dict[int, list[int]], loads: list[int], pace: Pace
) -> Generator[None, None, None]:
    """Give each of the topic's free partitions to the subscriber with the lowest load."""
    by_load = [(loads[number], number) for number in subscribers]
    heapq.heapify(by_load)
    if pace.is_over(2 * len(subscribers)):
        yield
    for partition in free:
        load, number = by_load[0]
        heapq.heapreplace(by_load, (load + 1, number))
        loads[number] = load + 1
        owners.setdefault(number, []).append(partition)
        if pace.is_over():
            yield


def _even_out(
    subscribers: Sequence[int], owners: dict[int, list[int]], loads: list[int], pace: Pace
) -> Generator[None, None, int]:
    """Move partitions of the topic from the members with the highest loads to those with the lowest.

    Returns how many moved.
    """
    load_of = loads.__getitem__
    is_even = max(map(load_of, owners)) - min(map(load_of, subscribers)) < 2
    if pace.is_over(len(owners) + len(subscribers)):
        yield
    if is_even:
        return 0
    low = [(loads[number], number) for number in subscribers]
    high = [(-loads[number], number) for number in owners]
    heapq.heapify(low)
    heapq.heapify(high)
    if pace.is_over(2 * (len(low) + len(high))):
        yield
    moved = 0
    while high:
        giver = _top(high, loads, sign=-1)
        taker = _top(low, loads, sign=1)
        if loads[giver] - loads[taker] < 2:
            break
        owners.setdefault(taker, []).append(owners[giver].pop())
        loads[giver] -= 1
        loads[taker] += 1
        if not owners[giver]:
            del owners[giver]
            heapq.heappop(high)
        moved += 1
        if pace.is_over():
            yield
    return moved


def _top(heap: list[tuple[int, int]], loads: Sequence[int], sign: int) -> int:
    """The first member of the heap, whose entries are made true when they come to the top."""
    while True:
        key, number = heap[0]
        load = sign * loads[number]
        if load == key:
            return number
        heapq.heapreplace(heap, (load, number))
