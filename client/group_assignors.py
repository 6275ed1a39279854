"""Divides partitions among the members of a consumer group, as the group's leader does in the classic protocol."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..base.topic_partition import TopicPartition

__all__ = ["ASSIGNORS", "by_topic"]

Assignment = dict[str, list[TopicPartition]]
Wanted = Mapping[str, Sequence[str]]
"""The topics that each member wants."""
Owned = Mapping[str, Sequence[TopicPartition]]
"""The partitions that members say they read until now. The first member that names a partition owns it."""
Assignor = Callable[[Wanted, Sequence[TopicPartition], Owned], Assignment]


def _assigned_by_range(wanted: Wanted, partitions: Sequence[TopicPartition], _: Owned) -> Assignment:
    """Each member gets neighbours of each topic; the first members get one more if it does not come out even."""
    chosen: Assignment = {member: [] for member in sorted(wanted)}
    for topic, indexes in by_topic(partitions).items():
        members = [member for member in chosen if topic in wanted[member]]
        share, more = divmod(len(indexes), max(len(members), 1))
        begin = 0
        for number, member in enumerate(members):
            end = begin + share + (number < more)
            chosen[member] += [TopicPartition(topic, index) for index in indexes[begin:end]]
            begin = end
    return chosen


def _assigned_round_robin(wanted: Wanted, partitions: Sequence[TopicPartition], _: Owned) -> Assignment:
    """One partition after another to one member after another, if it wants the topic."""
    chosen: Assignment = {member: [] for member in sorted(wanted)}
    waiting = list(chosen)
    for at in sorted(partitions):
        member = next((each for each in waiting if at.topic in wanted[each]), None)
        if member is not None:
            chosen[member].append(at)
            waiting.remove(member)
            waiting.append(member)
    return chosen


def _assigned_sticky(wanted: Wanted, partitions: Sequence[TopicPartition], owned: Owned) -> Assignment:
    """Each member keeps what it owns, as far as no member then has two partitions more than another."""
    chosen: Assignment = {member: [] for member in sorted(wanted)}
    free = dict.fromkeys(sorted(partitions))
    for member, kept in owned.items():
        for at in kept:
            if at in free and at.topic in wanted[member]:
                del free[at]
                chosen[member].append(at)
    for at in free:
        members = [member for member in chosen if at.topic in wanted[member]]
        if members:
            chosen[min(members, key=lambda member: len(chosen[member]))].append(at)
    while _moved_one(chosen, wanted):
        pass
    return chosen


def _assigned_cooperatively(wanted: Wanted, partitions: Sequence[TopicPartition], owned: Owned) -> Assignment:
    """As `_assigned_sticky`, but a partition that changes its member is left out: its owner gives it up first.

    The owner then joins again, and the next generation assigns the partition (KIP-429).
    """
    owners: dict[TopicPartition, set[str]] = defaultdict(set)
    for member, kept in owned.items():
        for at in kept:
            owners[at].add(member)
    chosen = _assigned_sticky(wanted, partitions, owned)
    return {member: [at for at in given if owners[at] <= {member}] for member, given in chosen.items()}


ASSIGNORS: dict[str, Assignor] = {
    "range": _assigned_by_range,
    "roundrobin": _assigned_round_robin,
    "cooperative-sticky": _assigned_cooperatively,
    "sticky": _assigned_sticky,
}


def _moved_one(chosen: Assignment, wanted: Wanted) -> bool:
    """Move a partition to a member that has two fewer, if there is one. A moved partition is the last of its member."""
    by_size = sorted(chosen, key=lambda member: len(chosen[member]))
    for poor in by_size:
        for rich in reversed(by_size):
            if len(chosen[rich]) - len(chosen[poor]) < 2:
                break
            at = next((each for each in reversed(chosen[rich]) if each.topic in wanted[poor]), None)
            if at is not None:
                chosen[rich].remove(at)
                chosen[poor].append(at)
                return True
    return False


def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    """Partitions by topic name, sorted, as requests list them."""
    topics: dict[str, list[int]] = defaultdict(list)
    for at in sorted(partitions):
        topics[at.topic].append(at.partition)
    return topics
