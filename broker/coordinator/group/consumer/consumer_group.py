"""A group of the consumer protocol (KIP-848): its members, epochs and assignments. No clock, no I/O."""

from collections.abc import Iterable, Sequence
from uuid import UUID

from .....base.topic_partition import TopicPartition
from .....protocol.errors import ErrorCode
from ..base import GroupBase
from ..commit_request import CommitRequest
from ..modern.assignment import Assignment
from ..results import GroupSummary
from ..subscriptions import CONSUMER_PROTOCOL_TYPE
from .member import ConsumerMember
from .records import GroupRecord, ResolvedPattern
from .states import ConsumerGroupState

__all__ = ["ConsumerGroup"]


class ConsumerGroup(GroupBase):
    """A group of the consumer protocol. Only `apply` changes it."""

    __slots__ = (
        "epoch",
        "members",
        "metadata_hash",
        "owners",
        "patterns",
        "static_members",
        "target_epoch",
        "targets",
    )
    kind = "consumer"

    def __init__(self, group_id: str) -> None:
        super().__init__(group_id)
        self.epoch = 0
        self.metadata_hash = 0
        self.target_epoch = 0
        self.members: dict[str, ConsumerMember] = {}
        self.targets: dict[str, Assignment] = {}
        self.static_members: dict[str, str] = {}
        """group.instance.id → member id"""
        self.owners: dict[tuple[UUID, int], int] = {}
        """Topic id and partition → the epoch of the member that has the partition, or still has to give it back."""
        self.patterns: dict[str, ResolvedPattern] = {}

    def apply(self, record: GroupRecord) -> None:
        """Change the group as the record says."""
        raise NotImplementedError

    @property
    def state(self) -> ConsumerGroupState:
        raise NotImplementedError

    @property
    def state_name(self) -> str:
        return self.state.value

    @property
    def generation_id(self) -> int:
        return self.epoch

    @property
    def protocol_type(self) -> str | None:
        return CONSUMER_PROTOCOL_TYPE

    @property
    def protocol_name(self) -> str | None:
        raise NotImplementedError

    @property
    def member_count(self) -> int:
        return len(self.members)

    def client_ids(self) -> Iterable[str]:
        return (member.metadata.client_id for member in self.members.values())

    @property
    def is_empty(self) -> bool:
        return not self.members

    def summary(self) -> GroupSummary:
        raise NotImplementedError

    def refuses_commit(self, request: CommitRequest, *, is_transactional: bool) -> ErrorCode:
        raise NotImplementedError

    def refuses_deletion_of_offsets(self) -> ErrorCode:
        raise NotImplementedError

    def is_subscribed_to(self, topic: str) -> bool:
        raise NotImplementedError

    def expired_offsets(self, now_ms: int, retention_ms: int) -> Sequence[TopicPartition]:
        raise NotImplementedError

    def tombstones(self) -> Sequence[bytes]:
        raise NotImplementedError

    def bury(self, now_ms: int) -> None:
        raise NotImplementedError
