"""A group whose records decide what it is, one by one."""

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .....protocol.errors import ErrorCode
from ..base import GroupBase
from ..results import GroupSummary
from ..states import GroupState
from .assignment import EMPTY, Assignment
from .memory import assigned_bytes

__all__ = ["ModernGroup"]


class ModernGroup(GroupBase):
    """``epoch``: of the group. ``target_epoch``: the group epoch for which ``targets`` were computed.

    ``notes_owners``: whether the group notes which member owns a partition.
    """

    __slots__ = ("epoch", "is_dead", "metadata_hash", "target_epoch", "targets")
    members: Mapping[str, Any]
    notes_owners: bool

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.epoch = 0
        self.metadata_hash = 0
        self.target_epoch = 0
        self.targets: dict[str, Assignment] = {}
        """Member id → the partitions that it shall get. A member without an entry shall get none."""
        self.is_dead = False

    # -- state

    @property
    def generation_id(self) -> int:
        return self.epoch

    @property
    def member_count(self) -> int:
        return len(self.members)

    def client_ids(self) -> Iterable[str]:
        return (member.metadata.client_id for member in self.members.values())

    @property
    def is_empty(self) -> bool:
        return not self.members

    def summary(self) -> GroupSummary:
        reason = f"Group {self.group_id} is not a classic group."
        return GroupSummary(ErrorCode.NONE, GroupState.DEAD.value, reason=reason)

    def target_of(self, member_id: str) -> Assignment:
        """The partitions that the member shall get."""
        return self.targets.get(member_id, EMPTY)

    @abstractmethod
    def owned_by(self, member_id: str) -> Sequence[Assignment]:
        """The partitions that the member has, and those that it still has to give back."""

    # -- changes

    @abstractmethod
    def apply(self, record: Any) -> None:
        """Change the group as the record says. Records may come in any order, and name members that are unknown."""

    @abstractmethod
    def encoded(self, record: Any) -> tuple[bytes, bytes | None]:
        """Key and value of a record of the group; the value of a tombstone is None."""

    def _set_target(self, member_id: str, assignment: Assignment | None) -> None:
        self._grow(self.growth_with(member_id, EMPTY if assignment is None else assignment))
        self.targets.pop(member_id, None)
        if assignment is not None:
            self.targets[member_id] = assignment

    # -- memory

    def growth_with(self, member_id: str, target: Assignment) -> int:
        """By how much more memory the group takes with this target of a member, also when the member has reached it."""
        owned = self.owned_by(member_id)
        return self._assigned_bytes(target, owned) - self._assigned_bytes(self.target_of(member_id), owned)

    def _count_owned(self, member_id: str, before: Sequence[Assignment], after: Sequence[Assignment]) -> None:
        """The member owns other partitions than before."""
        target = self.target_of(member_id)
        self._grow(self._assigned_bytes(target, after) - self._assigned_bytes(target, before))

    def _assigned_bytes(self, target: Assignment, owned: Sequence[Assignment]) -> int:
        return assigned_bytes(target, owned, notes_owners=self.notes_owners)
