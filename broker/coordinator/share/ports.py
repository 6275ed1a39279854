"""How the rest of the broker reaches the stored state of share partitions, on this broker or on another.

Group coordinators initialise and delete it, leaders of share partitions read and write it. Each call is answered by a
callback, maybe before the call returns. The callback comes after the records are committed. With COORDINATOR_*,
NOT_COORDINATOR, REQUEST_TIMED_OUT or UNKNOWN_SERVER_ERROR a write may take effect nevertheless.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias
from uuid import UUID

from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from .state_batch import StateBatch

__all__ = [
    "EndOffset",
    "OtherShareCoordinators",
    "SharePartitionKey",
    "ShareState",
    "StateRead",
    "StateSummary",
    "StateWrite",
]


class SharePartitionKey(NamedTuple):
    """A partition as a share group uses it."""

    group_id: str
    topic_id: UUID
    partition: int


class StateWrite(NamedTuple):
    """A change of the state. Batches replace what is stored of their offsets, unless it has a higher delivery count.

    Attributes:
        start_offset: the share partition's start offset (SPSO); -1 leaves it. State below it is forgotten.
        delivery_complete_count: offsets from the start offset on whose delivery is complete (KIP-1226); -1: unknown.
    """

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: Sequence[StateBatch]


class StateRead(NamedTuple):
    """The whole state. ``start_offset``: -1 before it is known. ``batches``: sorted, and no two overlap."""

    state_epoch: int
    start_offset: int
    batches: Sequence[StateBatch]


class StateSummary(NamedTuple):
    """The state without its batches. ``start_offset`` -1: not initialised, or not known yet."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int


class ShareState(Protocol):
    """The stored state of share partitions."""

    def initialize(
        self, key: SharePartitionKey, state_epoch: int, start_offset: int, done: Callable[[ErrorCode], None]
    ) -> None:
        """Begin a state without batches, also when there is an older one. FENCED_STATE_EPOCH: there is a newer one."""
        ...

    def read(self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateRead | ErrorCode], None]) -> None:
        """Read the state for the leader of the partition; from now on older leader epochs are fenced.

        FENCED_LEADER_EPOCH: a newer leader has read it. INVALID_REQUEST: it is not initialised.
        """
        ...

    def write(self, key: SharePartitionKey, write: StateWrite, done: Callable[[ErrorCode], None]) -> None:
        """Change the state. FENCED_STATE_EPOCH, FENCED_LEADER_EPOCH, INVALID_REQUEST: as above."""
        ...

    def delete(self, key: SharePartitionKey, done: Callable[[ErrorCode], None]) -> None:
        """Delete the state. NONE also when there is none."""
        ...

    def read_summary(
        self, key: SharePartitionKey, leader_epoch: int, done: Callable[[StateSummary | ErrorCode], None]
    ) -> None:
        """Read the start offset and its company. ``leader_epoch`` is not checked, as in Kafka."""
        ...


EndOffset: TypeAlias = int | ErrorCode
"""The high watermark of a partition, or why it is not known."""


class OtherShareCoordinators(NamedTuple):
    """``leader_of``: the other live broker that leads a partition. ``states_of``: those that a broker coordinates.

    ``end_offsets``: of partitions that a broker leads.
    """

    leader_of: Callable[[TopicPartition], int | None]
    states_of: Callable[[int], ShareState]
    end_offsets: Callable[[int, Sequence[TopicPartition]], Awaitable[Mapping[TopicPartition, EndOffset]]]
