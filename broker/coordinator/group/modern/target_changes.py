"""The records of a target assignment: members whose target differs from what it was, and the target's epoch."""

from collections.abc import Iterator

from .assignors.assignor import Assigned
from .group import ModernGroup
from .records import TargetEpoch, TargetMember

__all__ = ["target_changes", "target_records"]


def target_changes(group: ModernGroup, result: Assigned, epoch: int) -> Iterator[TargetMember | TargetEpoch | None]:
    """The records of a target that was computed for a group epoch, and None for each member whose target stays."""
    for member_id, assignment in result.items():
        yield None if assignment == group.target_of(member_id) else TargetMember(member_id, assignment)
    yield TargetEpoch(epoch)


def target_records(group: ModernGroup, result: Assigned, epoch: int) -> tuple[TargetMember | TargetEpoch, ...]:
    """The records of a target that was computed for a group epoch."""
    return tuple(each for each in target_changes(group, result, epoch) if each is not None)
