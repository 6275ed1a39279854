"""Kafka's RangeAssignor: of each topic a member gets a run of neighbouring partitions.

Topics with equally many partitions and the same subscribers are cut in the same places, so that a member has the same
partitions of all of them and can join their records.
"""

from collections.abc import Generator
from uuid import UUID

from .assignor import Assigned, GroupSpec, in_order

__all__ = ["RangeAssignor"]


_PER_STEP = 200


class RangeAssignor:
    """Does not look at earlier assignments."""

    name = "range"

    def steps(self, spec: GroupSpec) -> Generator[None, None, Assigned]:
        subscribers: dict[UUID, list[str]] = {}
        for member_id in in_order(spec.members):
            for topic_id in spec.members[member_id].topic_ids:
                if topic_id in spec.partition_counts:
                    subscribers.setdefault(topic_id, []).append(member_id)
            yield
        assigned: dict[str, dict[UUID, frozenset[int]]] = {member_id: {} for member_id in spec.members}
        for topic_id, members in subscribers.items():
            share, longer = divmod(spec.partition_counts[topic_id], len(members))
            begin = 0
            for number, member_id in enumerate(members):
                end = begin + share + (number < longer)
                if end > begin:
                    assigned[member_id][topic_id] = frozenset(range(begin, end))
                begin = end
                if number % _PER_STEP == 0:
                    yield
        return {**assigned}
