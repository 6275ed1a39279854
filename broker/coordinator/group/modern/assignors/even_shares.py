"""The uniform assignment of a group in which all members subscribe to the same topics."""

from collections.abc import Generator, Sequence
from uuid import UUID

from .assignor import Assigned, GroupSpec
from .steps import Pace, members_in_order, still_there, topics_in_order

__all__ = ["even_shares"]

_Owned = dict[UUID, list[int]]
_Taken = dict[UUID, set[int]]


def even_shares(spec: GroupSpec) -> Generator[None, None, Assigned]:
    """Every partition has a member, no member has two more than another, and as few as possible move."""
    pace = Pace()
    members = yield from members_in_order(spec.members, pace)
    if not members:
        return {}
    share, extras = divmod(sum(spec.partition_counts.values()), len(members))
    taken: _Taken = {}
    owned: list[_Owned] = []
    loads: list[int] = []
    for member_id in members:
        own = yield from still_there(spec, spec.members[member_id], taken, pace)
        load = sum(map(len, own.values()))
        # A member that has one partition more than the others keeps it (KAFKA-18688).
        may_keep = share + 1 if extras and load > share else share
        extras -= may_keep - share
        if load > may_keep:
            yield from _give_up(load - may_keep, own, taken, pace)
        owned.append(own)
        loads.append(min(load, may_keep))
        if pace.is_over(len(own)):
            yield
    yield from _deal(spec, owned, _wanted(loads, share, extras), taken, pace)
    result: Assigned = {}
    for member_id, own in zip(members, owned, strict=True):
        assigned = result[member_id] = {}
        for topic_id, partitions in own.items():
            assigned[topic_id] = frozenset(partitions)
            if pace.is_over(len(partitions)):
                yield
        if pace.is_over():
            yield
    return result


def _give_up(surplus: int, own: _Owned, taken: _Taken, pace: Pace) -> Generator[None, None, None]:
    """Take as many partitions from a member, the last ones first."""
    topics = yield from topics_in_order(own, pace)
    while surplus:
        topic_id = topics.pop()
        partitions = own[topic_id]
        given_up = partitions[-surplus:]
        surplus -= len(given_up)
        taken[topic_id].difference_update(given_up)
        del partitions[-len(given_up) :]
        if not partitions:
            del own[topic_id]
        if pace.is_over(len(given_up)):
            yield


def _wanted(loads: Sequence[int], share: int, extras: int) -> list[int]:
    """How many partitions each member lacks. The first members short of the share plus one get the extra ones."""
    wanted = []
    for load in loads:
        is_extra = load <= share and extras > 0
        extras -= is_extra
        wanted.append(max(share + is_extra - load, 0))
    return wanted


def _deal(
    spec: GroupSpec, owned: Sequence[_Owned], wanted: Sequence[int], taken: _Taken, pace: Pace
) -> Generator[None, None, None]:
    """Give out the partitions that nobody keeps, in order, to the members that lack some."""
    numbers = iter(range(len(wanted)))
    number, lacking = -1, 0
    topics = yield from topics_in_order(spec.partition_counts, pace)
    for topic_id in topics:
        count = spec.partition_counts[topic_id]
        free = sorted(set(range(count)).difference(taken.get(topic_id, ())))
        if pace.is_over(count):
            yield
        begin = 0
        while begin < len(free):
            while not lacking:
                number = next(numbers)
                lacking = wanted[number]
                if pace.is_over():
                    yield
            run = free[begin : begin + lacking]
            owned[number].setdefault(topic_id, []).extend(run)
            begin += len(run)
            lacking -= len(run)
            if pace.is_over(len(run)):
                yield
