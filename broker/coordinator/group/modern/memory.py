"""Memory used by what groups of all modern types have, by the rules of ``group/memory.py``. Estimates."""

from collections.abc import Collection, Sequence
from uuid import UUID

from .....protocol.text_size import text_bytes
from .assignment import Assignment

__all__ = ["MEMBER_BYTES", "PARTITION_BYTES", "TOPIC_BYTES", "assigned_bytes", "names_bytes"]

MEMBER_BYTES = 1_500
_NAME_BYTES = 100
TOPIC_BYTES = 400
PARTITION_BYTES = 70
_OWNER_BYTES = 200


def assigned_bytes(target: Assignment, owned: Sequence[Assignment], *, notes_owners: bool) -> int:
    """A member's target, and what it owns. The target counts as if the member owned it already, so that the member
    takes no more memory on its way there. ``notes_owners``: whether the group notes the owner of each partition."""
    partition_bytes = PARTITION_BYTES + (_OWNER_BYTES if notes_owners else 0)
    topics, partitions = len(target), _partitions(target)
    held = [each for each in owned if each]
    # A topic of which partitions are in several of the assignments counts once.
    held_topics = len(held[0]) if len(held) == 1 else len(set[UUID]().union(*held))
    most_owned = max(
        TOPIC_BYTES * topics + partition_bytes * partitions,
        TOPIC_BYTES * held_topics + partition_bytes * sum(map(_partitions, held)),
    )
    return TOPIC_BYTES * topics + PARTITION_BYTES * partitions + most_owned


def names_bytes(names: Collection[str]) -> int:
    """Names of topics."""
    joined = "".join(names)
    if joined.isascii():  # as all names that a topic can have
        return _NAME_BYTES * len(names) + len(joined)
    return sum(_NAME_BYTES + text_bytes(name) for name in names)


def _partitions(assignment: Assignment) -> int:
    return sum(map(len, assignment.values()))
