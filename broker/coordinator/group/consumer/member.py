"""A member of a consumer group: what it told of itself, and its assignment."""

from dataclasses import dataclass

from ..modern.assignment import EMPTY, Assignment
from .records import CurrentMember, MemberMetadata
from .states import MemberState

__all__ = ["ConsumerMember"]


@dataclass(slots=True)
class ConsumerMember:
    """``metadata`` and ``current``: the member's newest records."""

    metadata: MemberMetadata
    current: CurrentMember

    @classmethod
    def new(cls, metadata: MemberMetadata) -> "ConsumerMember":
        """A member without partitions, at epoch 0."""
        current = CurrentMember(metadata.member_id, 0, -1, MemberState.STABLE, EMPTY, EMPTY)
        return cls(metadata, current)

    @property
    def member_id(self) -> str:
        return self.metadata.member_id

    @property
    def epoch(self) -> int:
        return self.current.epoch

    @property
    def state(self) -> MemberState:
        return self.current.state

    @property
    def assigned(self) -> Assignment:
        return self.current.assigned
