"""The groups in memory, and which partitions of ``__consumer_offsets`` this broker answers for."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from ....protocol.errors import ErrorCode
from .group import Group
from .memory import GroupMemory
from .partitioning import partition_for_key

DEFAULT_MAX_BYTES = 128 * 1024 * 1024
"""Of ``pybroker.groups.max.bytes``."""
_SWEEP_INTERVAL_MS = 1_000

__all__ = ["GroupRegistry", "TransactionEnd"]


class TransactionEnd(NamedTuple):
    """A marker of a producer's transaction that was written to a partition."""

    producer_id: int
    is_commit: bool


class GroupRegistry:
    """Groups by id; partitions are owned, loading or not ours.

    A partition's coordinator epoch is its leader epoch: what an older leadership asks for is ignored, so that neither a
    load nor an unload that comes late undoes a newer one.
    """

    def __init__(self, partition_count: Callable[[], int], max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._partition_count = partition_count
        self.memory = GroupMemory(max_bytes)
        self._swept_ms = 0
        self._groups: dict[str, Group] = {}
        self._groups_by_partition: dict[int, dict[str, Group]] = {}
        # Not asked of ``partition_for`` again: the topic may grow, and then a group's name leads to another partition.
        self._partitions: dict[str, int] = {}
        self._owned: set[int] = set()
        self._loading: dict[int, list[TransactionEnd]] = {}
        self._epochs: dict[int, int] = {}
        self.is_active = True

    def partition_for(self, group_id: str) -> int:
        """The partition of the offsets topic that keeps the group."""
        return partition_for_key(group_id, self._partition_count())

    def check(self, group_id: str, *, may_be_empty: bool = False) -> ErrorCode:
        """Whether requests for the group may be answered here and now.

        ``may_be_empty``: offsets can be kept under the empty group id, but nobody can join it.
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
        return ErrorCode.NONE if partition in self._owned else ErrorCode.NOT_COORDINATOR

    # -- groups

    def get(self, group_id: str) -> Group | None:
        """The group, if it is in memory."""
        return self._groups.get(group_id)

    def get_or_create(self, group_id: str, now_ms: int) -> Group:
        """The group, made empty if there is none. Only after ``check``."""
        group = self._groups.get(group_id)
        if group is None:
            group = Group(group_id, now_ms)
            self.add(group)
        return group

    def add(self, group: Group) -> None:
        """Take in a group of a partition that is ours."""
        self._add(group, self.partition_for(group.group_id))

    def _add(self, group: Group, partition: int) -> None:
        self._groups[group.group_id] = group
        self._partitions[group.group_id] = partition
        group.memory = self.memory
        self.memory.used_bytes += group.size_bytes
        self._groups_by_partition.setdefault(partition, {})[group.group_id] = group

    def remove(self, group: Group) -> None:
        """Forget a group."""
        if self._groups.pop(group.group_id, None) is not None:
            partition = self._partitions.pop(group.group_id)
            del self._groups_by_partition[partition][group.group_id]
            self._settle(group)

    def groups(self) -> Iterable[Group]:
        """All groups; a snapshot, so that they may be removed meanwhile."""
        return list(self._groups.values())

    def groups_in(self, partition: int) -> Iterable[Group]:
        """The groups of one partition; a snapshot."""
        return list(self._groups_by_partition.get(partition, {}).values())

    def count_offset_bytes(self) -> int:
        """What the offsets of all groups take."""
        return sum(group.offsets.size_bytes for group in self._groups.values())

    def has_room_for(self, size_bytes: int, now_ms: int) -> bool:
        """Whether members or groups of that size may come in. Groups that nobody uses make room for them."""
        if self.memory.has_room_for(size_bytes):
            return True
        if abs(now_ms - self._swept_ms) >= _SWEEP_INTERVAL_MS:  # it looks at every group
            self._swept_ms = now_ms
            for group in self.groups():
                if group.is_unused:
                    self.remove(group)
        return self.memory.has_room_for(size_bytes)

    def _settle(self, group: Group) -> None:
        group.memory = None
        self.memory.used_bytes -= group.size_bytes

    # -- partitions

    def begin_loading(self, partition: int, epoch: int) -> bool:
        """Whether to load the partition: not when it is ours or being loaded already, nor for an old leadership.

        What is ours stays so under a new epoch: nobody else wrote to its log in between.
        """
        if self.is_loading(partition, epoch) or not self._accept_epoch(partition, epoch) or partition in self._owned:
            return False
        self._loading[partition] = []
        return True

    def is_loading(self, partition: int, epoch: int) -> bool:
        """Whether the load begun under ``epoch`` is still wanted."""
        return partition in self._loading and self._epochs.get(partition) == epoch

    def finish_loading(self, partition: int, groups: Iterable[Group]) -> list[Group]:
        """The partition is ours, with these groups; returns those that were taken in.

        Two partitions have records of one group when the topic grew in its lifetime; as in Kafka, the one that was
        there first stays.
        """
        ended = self._loading.pop(partition, [])
        self._owned.add(partition)
        taken = [group for group in groups if group.group_id not in self._groups]
        for group in taken:
            self._add(group, partition)
        for end in ended:
            self.end_transaction(partition, end)
        return taken

    def give_up_loading(self, partition: int, epoch: int) -> None:
        """The partition could not be read: it is nobody's until the next leadership."""
        if self.is_loading(partition, epoch):
            del self._loading[partition]

    def release(self, partition: int, epoch: int | None) -> list[Group] | None:
        """Give the partition away with its groups; None when ``epoch`` is old.

        None as epoch: whatever it is, for the topic is deleted; one that is made anew counts its epochs from 0.
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
            self._settle(group)
        return groups

    def end_transaction(self, partition: int, end: TransactionEnd) -> None:
        """The end stands in the partition's log: offsets that waited for it take effect, or are forgotten.

        While the partition is read it is not known yet whether the reading will come to it. It is kept for the end of
        that: then there is nothing left to do if it did.
        """
        waiting = self._loading.get(partition)
        if waiting is not None:
            waiting.append(end)
            return
        for group in self.groups_in(partition):
            group.offsets.complete_transaction(end.producer_id, is_commit=end.is_commit)

    @property
    def is_loading_any(self) -> bool:
        """Whether some partition is being read."""
        return bool(self._loading)

    @property
    def owned_partitions(self) -> list[int]:
        """Partitions this broker answers for, in order."""
        return sorted(self._owned)

    def _accept_epoch(self, partition: int, epoch: int) -> bool:
        if epoch < self._epochs.get(partition, epoch):
            return False
        self._epochs[partition] = epoch
        return True
