"""The uniform assignment of a group in which all members subscribe to the same topics."""

from collections.abc import Generator
from uuid import UUID

from ..assignment import assignment_of
from .assignor import Assigned, GroupSpec, MemberSpec, in_order

__all__ = ["even_shares"]

_PER_STEP = 500
Partition = tuple[UUID, int]


def even_shares(spec: GroupSpec) -> Generator[None, None, Assigned]:
    """Every partition has a member, no member has two more than another, and as few as possible move."""
    members = in_order(spec.members)
    if not members:
        return {}
    share, extras = divmod(sum(spec.partition_counts.values()), len(members))
    own: dict[str, list[Partition]] = {}
    for member_id in members:
        own[member_id] = _still_there(spec, spec.members[member_id])
        yield
    kept: set[Partition] = set()
    for member_id in members:
        own[member_id] = [each for each in own[member_id] if each not in kept]
        # Whoever has one more than the others keeps it (KAFKA-18688).
        may_keep = share + 1 if extras and len(own[member_id]) > share else share
        extras -= may_keep - share
        del own[member_id][may_keep:]
        kept.update(own[member_id])
        yield
    free = yield from _free(spec, kept)
    for member_id in members:
        mine = own[member_id]
        wanted = share - len(mine)
        if len(mine) <= share and extras:
            wanted += 1
            extras -= 1
        for _ in range(wanted):
            mine.append(free.pop())
        yield
    result: Assigned = {}
    for member_id in members:
        result[member_id] = assignment_of(own[member_id])
        yield
    return result


def _still_there(spec: GroupSpec, member: MemberSpec) -> list[Partition]:
    """The partitions of the member that exist and belong to its topics, in an order that stays."""
    return [
        (topic_id, partition)
        for topic_id in sorted(member.target.keys() & member.topic_ids & spec.partition_counts.keys())
        for partition in sorted(member.target[topic_id])
        if partition < spec.partition_counts[topic_id]
    ]


def _free(spec: GroupSpec, kept: set[Partition]) -> Generator[None, None, list[Partition]]:
    """The partitions that nobody keeps, the first one last."""
    free: list[Partition] = []
    for topic_id in sorted(spec.partition_counts, reverse=True):
        for end in range(spec.partition_counts[topic_id], 0, -_PER_STEP):
            partitions = range(end - 1, max(end - _PER_STEP, 0) - 1, -1)
            free += [(topic_id, each) for each in partitions if (topic_id, each) not in kept]
            yield
    return free
