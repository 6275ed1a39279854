"""The states of a consumer group and of its members."""

from enum import Enum, IntEnum

__all__ = ["ConsumerGroupState", "MemberState"]


class ConsumerGroupState(Enum):
    """The state of a group, which follows from its members and epochs. The value is the name in descriptions."""

    EMPTY = "Empty"
    """No members."""
    ASSIGNING = "Assigning"
    """The target assignment of the group's epoch is not computed yet."""
    RECONCILING = "Reconciling"
    """Some member has not reached its target assignment yet."""
    STABLE = "Stable"
    """Every member has its target assignment."""
    DEAD = "Dead"
    """The group was deleted, or moved to another broker."""


class MemberState(IntEnum):
    """How far a member is from its target assignment. The value is the number in the member's record."""

    STABLE = 0
    """The member has reached the target assignment of its epoch."""
    UNREVOKED_PARTITIONS = 1
    """The member has to give partitions back before it gets the next epoch."""
    UNRELEASED_PARTITIONS = 2
    """The member has its epoch, but other members still own partitions that it shall get."""
    UNKNOWN = 127
    """A state that only a newer coordinator knows."""
