"""The groups in memory, and the partitions of ``__consumer_offsets`` that this broker coordinates."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ....protocol.errors import ErrorCode
from ..partitioning import partition_for_key
from .group import Group
from .memory import GroupMemory

DEFAULT_MAX_BYTES = 128 * 1024 * 1024
"""Default of ``pybroker.groups.max.bytes``."""
_SWEEP_INTERVAL_MS = 1_000

__all__ = ["GroupRegistry", "TransactionEnd"]


class TransactionEnd(NamedTuple):
    """An end marker of a producer's transaction, written to a partition."""

    producer_id: int
    is_commit: bool


class GroupRegistry:
    """Groups by id, and the state of each partition: owned, loading, or coordinated by another broker.

    A partition's coordinator epoch is its leader epoch. Calls with an older epoch are ignored, so that a late load or
    unload does not undo a newer one.
    """

    def __init__(self, partition_count: Callable[[], int], max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._partition_count = partition_count
        self.memory = GroupMemory(max_bytes)
        self._swept_ms = 0
        self._groups: dict[str, Group] = {}
        self._groups_by_partition: dict[int, dict[str, Group]] = {}
        # Kept, because ``partition_for`` changes when the topic gets more partitions.
        self._partitions: dict[str, int] = {}
        self._owned: set[int] = set()
        self._loading: dict[int, list[TransactionEnd]] = {}
        self._epochs: dict[int, int] = {}
        self.is_active = True

    def partition_for(self, group_id: str) -> int:
        """The partition of ``__consumer_offsets`` that stores the group."""
        return partition_for_key(group_id, self._partition_count())

    def check(self, group_id: str, *, may_be_empty: bool = False) -> ErrorCode:
        """NONE when this broker coordinates the group, else the error for the client.

        ``may_be_empty``: whether the request allows the empty group id, which can have offsets but no members.
        """
        if not group_id and not may_be_empty:
            return ErrorCode.INVALID_GROUP_ID
        if not self.is_active:
            return ErrorCode.COORDINATOR_NOT_AVAILABLE
        if group_id in self._groups:
            return ErrorCode.NONE
        partition = self.partition_for(group_id)
        if partition in self._loading:
            return ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        return ErrorCode.NONE if self.owns(partition) else ErrorCode.NOT_COORDINATOR

    # -- groups

    def get(self, group_id: str) -> Group | None:
        """The group, if it is in memory."""
        return self._groups.get(group_id)

    def get_or_create(self, group_id: str, now_ms: int) -> Group:
        """The group, created empty if missing. Call `check` first."""
        group = self._groups.get(group_id)
        if group is None:
            group = Group(group_id, now_ms)
            self.add(group)
        return group

    def add(self, group: Group) -> None:
        """Add a group of an owned partition."""
        self._add(group, self.partition_for(group.group_id))

    def _add(self, group: Group, partition: int) -> None:
        self._groups[group.group_id] = group
        self._partitions[group.group_id] = partition
        group.memory = self.memory
        self.memory.used_bytes += group.size_bytes
        self._groups_by_partition.setdefault(partition, {})[group.group_id] = group

    def remove(self, group: Group) -> None:
        if self._groups.pop(group.group_id, None) is not None:
            partition = self._partitions.pop(group.group_id)
            del self._groups_by_partition[partition][group.group_id]
            self._release_memory(group)

    def groups(self) -> Iterable[Group]:
        """A snapshot of all groups, which may be removed while it is iterated."""
        return list(self._groups.values())

    def groups_in(self, partition: int) -> Iterable[Group]:
        """A snapshot of the groups of one partition."""
        return list(self._groups_by_partition.get(partition, {}).values())

    def count_offset_bytes(self) -> int:
        """Estimated memory of the offsets of all groups."""
        return sum(group.offsets.size_bytes for group in self._groups.values())

    def has_space_for(self, size_bytes: int, now_ms: int) -> bool:
        """Whether members or groups of this size fit into the limit. If not, unused groups are removed first."""
        if self.memory.has_space_for(size_bytes):
            return True
        if abs(now_ms - self._swept_ms) >= _SWEEP_INTERVAL_MS:  # a sweep goes through every group
            self._swept_ms = now_ms
            for group in self.groups():
                if group.is_unused:
                    self.remove(group)
        return self.memory.has_space_for(size_bytes)

    def _release_memory(self, group: Group) -> None:
        group.memory = None
        self.memory.used_bytes -= group.size_bytes

    # -- partitions

    def begin_loading(self, partition: int, epoch: int) -> bool:
        """Whether the caller must load the partition: False when it is owned or loading already, or ``epoch`` is old.

        An owned partition stays owned under a new epoch, because no other broker wrote to its log in between.
        """
        if self.is_loading(partition, epoch) or not self._accept_epoch(partition, epoch) or self.owns(partition):
            return False
        self._loading[partition] = []
        return True

    def is_loading(self, partition: int, epoch: int) -> bool:
        """Whether the load that began under ``epoch`` is still valid."""
        return partition in self._loading and self._epochs.get(partition) == epoch

    def finish_loading(self, partition: int, groups: Iterable[Group]) -> list[Group]:
        """The partition is owned now, with these groups. Returns the groups that were added.

        When the topic got more partitions, two of them may have records of one group. As in Kafka, the group that was
        loaded first stays.
        """
        ended = self._loading.pop(partition, [])
        self._owned.add(partition)
        added = [group for group in groups if group.group_id not in self._groups]
        for group in added:
            self._add(group, partition)
        for end in ended:
            self.end_transaction(partition, end)
        return added

    def give_up_loading(self, partition: int, epoch: int) -> None:
        """The partition could not be read: requests get NOT_COORDINATOR until this broker is elected again."""
        if self.is_loading(partition, epoch):
            del self._loading[partition]

    def release(self, partition: int, epoch: int | None) -> list[Group] | None:
        """Remove the partition and its groups, which are returned; None when ``epoch`` is old.

        ``epoch`` None: the topic was deleted. A new topic of that name counts its epochs from 0 again.
        """
        if epoch is None:
            self._epochs.pop(partition, None)
        elif not self._accept_epoch(partition, epoch):
            return None
        self._owned.discard(partition)
        self._loading.pop(partition, None)
        groups = list(self._groups_by_partition.pop(partition, {}).values())
        for group in groups:
            del self._groups[group.group_id]
            del self._partitions[group.group_id]
            self._release_memory(group)
        return groups

    def end_transaction(self, partition: int, end: TransactionEnd) -> None:
        """The marker is in the partition's log: offsets of the transaction take effect, or are dropped.

        During a load the end is kept and applied afterwards, because the load may or may not reach the marker. If it
        did, applying the end again changes nothing.
        """
        waiting = self._loading.get(partition)
        if waiting is not None:
            waiting.append(end)
            return
        for group in self.groups_in(partition):
            group.offsets.complete_transaction(end.producer_id, is_commit=end.is_commit)

    @property
    def is_loading_any(self) -> bool:
        """Whether any partition is being loaded."""
        return bool(self._loading)

    def owns(self, partition: int) -> bool:
        """Whether this broker coordinates the groups of the partition, which is loaded."""
        return partition in self._owned

    def _accept_epoch(self, partition: int, epoch: int) -> bool:
        if epoch < self._epochs.get(partition, epoch):
            return False
        self._epochs[partition] = epoch
        return True
