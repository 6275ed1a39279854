"""Kafka's SimpleAssignor for share groups (KIP-932): members share partitions when there are more members than these.

**How.** Every partition gets equally many members, as few as give each member at least one. Members get equally many
partitions, give or take one, and keep as many of their own as that allows. When all members subscribe to the same
topics, the partitions of all topics are shared out together, else those of each topic for itself. Kafka accepts a
slight imbalance where a member that lacks partitions has all that lack members; here another member swaps with it.
"""

from collections import deque
from collections.abc import Generator, Mapping, Sequence
from typing import NamedTuple
from uuid import UUID

from ..assignment import Assignment
from .assignor import Assigned, MemberSpec
from .steps import Pace, sorted_in_steps, topics_in_order

__all__ = ["ShareSpec", "simple_assignment"]

_Item = tuple[UUID, int]
"""A partition, with the id of its topic."""
_NONE: frozenset[int] = frozenset()


class ShareSpec(NamedTuple):
    """``assignable``: the partitions that members may get. ``is_homogeneous``: whether all have the same topics."""

    members: Mapping[str, MemberSpec]
    assignable: Assignment
    is_homogeneous: bool


def simple_assignment(spec: ShareSpec) -> Generator[None, None, Assigned]:
    """Compute the assignment in steps of less than a millisecond, however large the group is."""
    pace = Pace()
    members = yield from sorted_in_steps(spec.members, str, pace)
    topics = yield from topics_in_order(spec.assignable, pace)
    if spec.is_homogeneous and members:
        subscribed = spec.members[members[0]].topic_ids
        topics = [topic_id for topic_id in topics if topic_id in subscribed]
    held: dict[str, set[_Item]] = {member_id: set() for member_id in members}
    for places in [topics] if spec.is_homogeneous else [[topic_id] for topic_id in topics]:
        items: list[_Item] = []
        for topic_id in places:
            items += [(topic_id, partition) for partition in sorted(spec.assignable[topic_id])]
            if pace.is_over(len(spec.assignable[topic_id])):
                yield
        sharers = [each for each in members if any(topic_id in spec.members[each].topic_ids for topic_id in places)]
        if pace.is_over(len(members)):
            yield
        if items and sharers:
            # The first members get the odd ones: of each topic they are others.
            begin = 0 if spec.is_homogeneous else places[0].int % len(sharers)
            before = yield from _kept(spec, sharers, set(places), pace)
            yield from _Sharing(items, [*sharers[begin:], *sharers[:begin]], before, held, pace).steps()
    return (yield from _as_assignments(held, pace))


def _kept(
    spec: ShareSpec, members: Sequence[str], topics: set[UUID], pace: Pace
) -> Generator[None, None, dict[str, list[_Item]]]:
    """The partitions of these topics that the members had, and that may still be assigned."""
    found: dict[str, list[_Item]] = {}
    for member_id in members:
        own = found[member_id] = []
        target = spec.members[member_id].target
        for topic_id in topics if len(topics) < len(target) else target:
            partitions = target.get(topic_id, _NONE)
            if topic_id in topics:
                own += [(topic_id, partition) for partition in sorted(partitions & spec.assignable[topic_id])]
            if pace.is_over(1 + len(partitions)):
                yield
    return found


def _as_assignments(held: Mapping[str, set[_Item]], pace: Pace) -> Generator[None, None, Assigned]:
    result: Assigned = {}
    for member_id, items in held.items():
        topics: dict[UUID, set[int]] = {}
        for topic_id, partition in items:
            topics.setdefault(topic_id, set()).add(partition)
            if pace.is_over():
                yield
        result[member_id] = {topic_id: frozenset(own) for topic_id, own in topics.items()}
        if pace.is_over():
            yield
    return result


class _Sharing:
    """Shares out some partitions among some members. ``held`` gets what each member has."""

    def __init__(
        self,
        items: Sequence[_Item],
        members: Sequence[str],
        before: Mapping[str, Sequence[_Item]],
        held: Mapping[str, set[_Item]],
        pace: Pace,
    ) -> None:
        self._items = items
        self._members = members
        self._before = before
        self._held = held
        self._pace = pace
        self._per_item = -(-len(members) // len(items))
        self._sharers: dict[_Item, set[str]] = {item: set() for item in items}
        self._wanted: dict[str, int] = {}
        """How many partitions each member lacks."""

    def steps(self) -> Generator[None, None, None]:
        yield from self._keep()
        lacking = deque(member_id for member_id in self._members if self._wanted[member_id])
        short: list[_Item] = []
        for item in self._items:
            yield from self._deal(item, lacking)
            short += [item] * (self._per_item - len(self._sharers[item]))
        for item in short:
            yield from self._swap(item, lacking)

    def _keep(self) -> Generator[None, None, None]:
        share, extras = divmod(self._per_item * len(self._items), len(self._members))
        counts: dict[str, int] = {}
        for member_id in self._members:
            free = [item for item in self._before[member_id] if len(self._sharers[item]) < self._per_item]
            # A member that has one partition more than the others keeps it.
            count = counts[member_id] = min(len(free), share + (extras > 0))
            extras -= count > share
            for item in free[:count]:
                self._give(item, member_id)
            if self._pace.is_over(2 * len(free)):
                yield
        for member_id, count in counts.items():
            is_extra = count <= share and extras > 0
            extras -= is_extra
            self._wanted[member_id] = max(share + is_extra - count, 0)
        if self._pace.is_over(len(counts)):
            yield

    def _deal(self, item: _Item, lacking: deque[str]) -> Generator[None, None, None]:
        """Give the partition to members that lack some, each in turn."""
        sharers, having = self._sharers[item], []
        while len(sharers) < self._per_item and lacking:
            member_id = lacking.popleft()
            if member_id in sharers:
                having.append(member_id)
            else:
                self._give_wanted(item, member_id)
                if self._wanted[member_id]:
                    lacking.append(member_id)
            if self._pace.is_over():
                yield
        lacking.extendleft(reversed(having))

    def _swap(self, item: _Item, lacking: deque[str]) -> Generator[None, None, None]:
        """The members that lack some have this partition already: one of them gets another member's in its place."""
        sharers = self._sharers[item]
        taker = next((each for each in lacking if each not in sharers), lacking[0])
        if taker in sharers:
            for giver in self._members:
                if giver not in sharers:
                    break
                if self._pace.is_over():
                    yield
            moved = min(other for other in self._held[giver] - self._held[taker] if other in self._sharers)
            self._held[giver].remove(moved)
            self._sharers[moved].remove(giver)
            self._give(item, giver)
            item = moved
        self._give_wanted(item, taker)
        if not self._wanted[taker]:
            lacking.remove(taker)
        if self._pace.is_over(len(self._held[taker]) + len(lacking)):
            yield

    def _give_wanted(self, item: _Item, member_id: str) -> None:
        self._wanted[member_id] -= 1
        self._give(item, member_id)

    def _give(self, item: _Item, member_id: str) -> None:
        self._sharers[item].add(member_id)
        self._held[member_id].add(item)
