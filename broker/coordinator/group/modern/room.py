"""Whether a group has room for another member."""

from .....protocol.errors import GroupMaxSizeReachedError

__all__ = ["check_room"]


def check_room(group_type: str, member_count: int, max_size: int) -> None:
    """Raises GroupMaxSizeReachedError when a group with so many members takes no other."""
    if member_count >= max_size:
        raise GroupMaxSizeReachedError(
            f"The {group_type} group has reached its maximum capacity of {max_size} members."
        )
