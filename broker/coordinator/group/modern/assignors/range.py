"""Kafka's RangeAssignor: of each topic a member gets a run of neighbouring partitions.

Topics with equally many partitions and the same subscribers are cut in the same places, so that a member has the same
partitions of all of them and can join their records.
"""

from collections.abc import Generator
from uuid import UUID

from .assignor import Assigned, GroupSpec
from .steps import Pace, members_in_order, readers

__all__ = ["RangeAssignor"]


class RangeAssignor:
    """Does not look at earlier assignments."""

    name = "range"

    def steps(self, spec: GroupSpec) -> Generator[None, None, Assigned]:
        pace = Pace()
        members = yield from members_in_order(spec.members, pace)
        subscribers = yield from readers(spec, members, pace)
        assigned: list[dict[UUID, frozenset[int]]] = [{} for _ in members]
        for topic_id, numbers in subscribers.items():
            count = spec.partition_counts[topic_id]
            share, longer = divmod(count, len(numbers))
            begin = 0
            for place, number in enumerate(numbers[:count]):
                end = begin + share + (place < longer)
                assigned[number][topic_id] = frozenset(range(begin, end))
                if pace.is_over(end - begin):
                    yield
                begin = end
        return dict(zip(members, assigned, strict=True))
