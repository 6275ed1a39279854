"""A group whose records decide what it is, one by one."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

from ..base import GroupBase

__all__ = ["ModernGroup"]


class ModernGroup(GroupBase):
    """``epoch``: of the group. ``target_epoch``: the group epoch for which the target assignment was computed."""

    __slots__ = ()
    is_dead: bool
    epoch: int
    target_epoch: int
    members: Mapping[str, Any]

    @abstractmethod
    def apply(self, record: Any) -> None:
        """Change the group as the record says."""

    @abstractmethod
    def encoded(self, record: Any) -> tuple[bytes, bytes | None]:
        """Key and value of a record of the group; the value of a tombstone is None."""
