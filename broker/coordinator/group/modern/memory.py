"""Memory used by what groups of all modern types have, by the rules of ``group/memory.py``. Estimates."""

from .assignment import Assignment

__all__ = [
    "MEMBER_BYTES",
    "NAME_BYTES",
    "PARTITION_BYTES",
    "TOPIC_BYTES",
    "assignment_bytes",
    "owned_bytes",
    "target_bytes",
]

MEMBER_BYTES = 1_500
NAME_BYTES = 100
TOPIC_BYTES = 400
PARTITION_BYTES = 70
_OWNER_BYTES = 200


def assignment_bytes(assignment: Assignment) -> int:
    return sum(TOPIC_BYTES + PARTITION_BYTES * len(partitions) for partitions in assignment.values())


def owned_bytes(assignment: Assignment) -> int:
    """An assignment whose partitions have their owner noted."""
    return assignment_bytes(assignment) + sum(_OWNER_BYTES * len(partitions) for partitions in assignment.values())


def target_bytes(assignment: Assignment) -> int:
    """A target together with the assignment of a member that has reached it."""
    return assignment_bytes(assignment) + owned_bytes(assignment)
