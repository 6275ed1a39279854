"""A member of a consumer group: what it told of itself, and its assignment."""

from typing import NamedTuple

from ..modern.assignment import EMPTY, Assignment
from .records import CurrentMember, MemberMetadata
from .states import MemberState

__all__ = ["NO_EPOCH", "ConsumerMember", "nothing_assigned"]

NO_EPOCH = -1


class ConsumerMember(NamedTuple):
    """The member's newest records."""

    metadata: MemberMetadata
    current: CurrentMember

    @property
    def member_id(self) -> str:
        return self.metadata.member_id

    @property
    def client_id(self) -> str:
        return self.metadata.client_id

    @property
    def group_instance_id(self) -> str | None:
        return self.metadata.instance_id

    @property
    def epoch(self) -> int:
        return self.current.epoch

    @property
    def is_classic(self) -> bool:
        """Whether the member uses the classic protocol."""
        return self.metadata.classic is not None

    @property
    def owned(self) -> tuple[Assignment, Assignment]:
        """The partitions that the member has, and those that it still has to give back."""
        return self.current.assigned, self.current.revoking

    def has_reached(self, target_epoch: int) -> bool:
        """Whether the member has all that the target assignment of this epoch gives it."""
        return self.current.state is MemberState.STABLE and self.current.epoch == target_epoch


def nothing_assigned(member_id: str) -> CurrentMember:
    """The assignment of a new member: epoch 0, no partitions."""
    return CurrentMember(member_id, 0, NO_EPOCH, MemberState.STABLE, EMPTY, EMPTY)
