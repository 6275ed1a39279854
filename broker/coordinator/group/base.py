"""A group of any type: its id, its offsets, and what the coordinator asks of each group.

**Why.** A group id names one group of one type, but its offsets belong to the id, whatever the type is. Commits,
administration, expiry, replay and memory therefore speak to this class alone.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from ..entry_memory import EntryMemory
from .commit_request import CommitRequest
from .memory import group_bytes
from .offsets import GroupOffsets
from .results import GroupListing, GroupSummary
from .subscriptions import CONSUMER_PROTOCOL_TYPE
from .timeline import GroupTimeline

__all__ = ["GroupBase"]


class GroupBase(ABC):
    """The base class of groups of all types. ``kind``: the name of the type in ListGroups.

    ``protocol_type``: None for a group that only stores offsets. ``protocol_name``: the assignor that the members use;
    None while they use none.
    """

    __slots__ = ("group_id", "memory", "offsets", "size_bytes", "timeline")
    kind: str

    def __init__(self, group_id: str) -> None:
        self.group_id = group_id
        self.offsets = GroupOffsets()
        self.timeline = GroupTimeline()
        self.size_bytes = group_bytes(group_id)
        """Estimated memory of the group without its offsets."""
        self.memory: EntryMemory | None = None
        """The memory counter that includes ``size_bytes``, while the group is in a registry."""

    # -- state

    @property
    @abstractmethod
    def state_name(self) -> str:
        """The state in ListGroups and in descriptions."""

    @property
    @abstractmethod
    def generation_id(self) -> int:
        """The number of its last change: the generation of a classic group, the epoch of others. 0: never stored."""

    @property
    @abstractmethod
    def protocol_type(self) -> str | None: ...

    @property
    @abstractmethod
    def protocol_name(self) -> str | None: ...

    @property
    @abstractmethod
    def member_count(self) -> int: ...

    @abstractmethod
    def client_ids(self) -> Iterable[str]:
        """The client ids of the members."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether the group waits for its first member."""

    @property
    def gives_way(self) -> bool:
        """Whether a group of another type may take the place of this one."""
        return self.is_empty

    @property
    def is_finished(self) -> bool:
        """Whether the group has neither members nor offsets and no client is about to join, so it can be removed."""
        return self.is_empty and self.offsets.is_empty()

    @property
    def is_unused(self) -> bool:
        """Whether nothing of the group was ever stored and no client is about to join."""
        return self.generation_id == 0 and self.is_finished

    @property
    def is_consumer_group(self) -> bool:
        """Whether the members are consumers, whose subscriptions the broker knows."""
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def listing(self) -> GroupListing:
        """For ListGroups."""
        return GroupListing(self.group_id, self.protocol_type or "", self.state_name, self.kind)

    @abstractmethod
    def summary(self) -> GroupSummary:
        """For DescribeGroups, which knows classic groups only: to it, a group of another type is dead."""

    # -- offsets

    @abstractmethod
    def refuses_commit(self, request: CommitRequest, *, is_transactional: bool) -> ErrorCode:
        """Why the client may not commit; NONE when it may."""

    def refuses_fetch(self, member_id: str | None, epoch: int) -> ErrorCode:
        """Why a client may not read offsets; NONE when it may. ``member_id`` None, epoch -1: it is no member."""
        return ErrorCode.NONE

    @abstractmethod
    def refuses_deletion_of_offsets(self) -> ErrorCode:
        """Why no offset may be deleted; NONE when those of topics that no member reads may be."""

    @abstractmethod
    def is_subscribed_to(self, topic: str) -> bool:
        """Whether members read the topic; True also when they may."""

    @abstractmethod
    def expired_offsets(self, now_ms: int, retention_ms: int) -> Sequence[TopicPartition]:
        """Partitions whose committed offsets are past their retention."""

    # -- the end

    @abstractmethod
    def tombstones(self) -> Sequence[bytes]:
        """The keys of all records of the group but its offsets, in the order in which to delete them."""

    @abstractmethod
    def bury(self, now_ms: int) -> None:
        """The group was deleted or moved to another broker: cancel its timers and answer waiting requests with
        NOT_COORDINATOR."""

    # -- memory

    def _grow(self, size_bytes: int) -> None:
        self.size_bytes += size_bytes
        if self.memory is not None:
            self.memory.used_bytes += size_bytes
