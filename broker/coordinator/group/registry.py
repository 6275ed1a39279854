"""The groups in memory, of the partitions of ``__consumer_offsets`` that this broker coordinates."""

from collections.abc import Callable, Iterable
from functools import partial

from ....base.coordinator_partition import partition_for_key
from ....protocol.errors import ErrorCode
from ..entry_memory import EntryMemory
from ..ownership import PartitionOwnership
from ..transaction_end import TransactionEnd
from .base import GroupBase
from .commit_history import CommitClock, CommitHistories
from .group import Group
from .history_memory import HistoryMemory

DEFAULT_MAX_BYTES = 128 * 1024 * 1024
"""Default of ``pybroker.groups.max.bytes``."""
_SWEEP_INTERVAL_MS = 1_000

__all__ = ["GroupRegistry"]


class GroupRegistry:
    """Groups by id and by partition."""

    def __init__(
        self,
        partition_count: Callable[[], int],
        max_bytes: int = DEFAULT_MAX_BYTES,
        now_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """``now_s``: a monotonic clock, for the histories of commits."""
        self._partition_count = partition_count
        self.ownership = PartitionOwnership()
        self.memory = EntryMemory(max_bytes)
        self.histories = HistoryMemory(self.memory)
        self.commit_clock = CommitClock(self.histories, now_s)
        self._swept_ms = 0
        self._groups: dict[str, GroupBase] = {}
        self._groups_by_partition: dict[int, dict[str, GroupBase]] = {}
        # Kept, because ``partition_for`` changes when the topic gets more partitions.
        self._partitions: dict[str, int] = {}
        self._on_removal: Callable[[GroupBase], None] | None = None
        # Partition → producer id → ids of the groups that may have offsets in its open transaction.
        self._groups_by_producer: dict[int, dict[int, set[str]]] = {}

    def partition_for(self, group_id: str) -> int:
        """The partition of ``__consumer_offsets`` that stores the group."""
        return partition_for_key(group_id, self._partition_count())

    def check(self, group_id: str, *, may_be_empty: bool = False) -> ErrorCode:
        """NONE when this broker coordinates the group, else the error for the client.

        ``may_be_empty``: whether the request allows the empty group id, which can have offsets but no members.
        """
        if not group_id and not may_be_empty:
            return ErrorCode.INVALID_GROUP_ID
        if group_id in self._groups and self.ownership.is_active:
            return ErrorCode.NONE
        return self.ownership.check(self.partition_for(group_id))

    def partition_of(self, group_id: str) -> int:
        """The partition that a group in memory was loaded from, or that a new group is stored in."""
        known = self._partitions.get(group_id)
        return self.partition_for(group_id) if known is None else known

    # -- groups

    def on_removal(self, listener: Callable[[GroupBase], None]) -> None:
        """Call ``listener`` with each group that is deleted, replaced, or moved to another broker."""
        self._on_removal = listener

    def get(self, group_id: str) -> GroupBase | None:
        """The group, if it is in memory."""
        return self._groups.get(group_id)

    def get_or_create(self, group_id: str, now_ms: int) -> GroupBase:
        """The group, created as an empty classic one if missing. Call `check` first."""
        group = self._groups.get(group_id)
        if group is None:
            group = Group(group_id, now_ms)
            self.add(group)
        return group

    def add(self, group: GroupBase) -> None:
        """Add a group of an owned partition."""
        self._add(group, self.partition_for(group.group_id))

    def _add(self, group: GroupBase, partition: int) -> None:
        self._groups[group.group_id] = group
        self._partitions[group.group_id] = partition
        group.memory = self.memory
        self.memory.used_bytes += group.size_bytes
        group.timeline.memory = self.histories
        group.offsets.histories = CommitHistories(self.commit_clock)
        self._groups_by_partition.setdefault(partition, {})[group.group_id] = group
        for producer_id in group.offsets.producers:
            self.note_transaction(group, producer_id)

    def note_transaction(self, group: GroupBase, producer_id: int) -> None:
        """The group has offsets in an open transaction of the producer."""
        by_producer = self._groups_by_producer.setdefault(self._partitions[group.group_id], {})
        by_producer.setdefault(producer_id, set()).add(group.group_id)

    def replace(self, old: GroupBase, new: GroupBase) -> None:
        """A group changes its type. The offsets belong to its id, so they stay."""
        partition = self._partitions[old.group_id]
        new.offsets = old.offsets
        self.remove(old)
        self._add(new, partition)

    def remove(self, group: GroupBase) -> None:
        if self._groups.pop(group.group_id, None) is not None:
            partition = self._partitions.pop(group.group_id)
            del self._groups_by_partition[partition][group.group_id]
            self._release_memory(group)

    def __len__(self) -> int:
        return len(self._groups)

    def groups(self) -> Iterable[GroupBase]:
        """A snapshot of all groups, which may be removed while it is iterated."""
        return list(self._groups.values())

    def count_offset_bytes(self) -> int:
        """Estimated memory of the offsets of all groups."""
        return sum(group.offsets.size_bytes for group in self._groups.values())

    def has_space_for(self, size_bytes: int, now_ms: int) -> bool:
        """Whether members or groups of this size fit into the limit.

        If not, unused groups are removed first, then the histories of all groups.
        """
        if self.memory.has_space_for(size_bytes + self.histories.used_bytes):
            return True
        if abs(now_ms - self._swept_ms) >= _SWEEP_INTERVAL_MS:  # a sweep goes through every group
            self._swept_ms = now_ms
            for group in self.groups():
                if group.is_unused:
                    self.remove(group)
        if not self.memory.has_space_for(size_bytes):
            return False
        if not self.memory.has_space_for(size_bytes + self.histories.used_bytes):
            for group in self._groups.values():
                _clear_histories(group)
        return True

    def _release_memory(self, group: GroupBase) -> None:
        if self._on_removal is not None:
            self._on_removal(group)
        group.memory = None
        self.memory.used_bytes -= group.size_bytes
        _clear_histories(group)
        group.timeline.memory = None
        group.offsets.histories = None

    # -- partitions

    def finish_loading(self, partition: int, groups: Iterable[GroupBase]) -> list[GroupBase]:
        """The partition is owned now, with these groups. Returns the groups that were added.

        When the topic got more partitions, two of them may have records of one group. As in Kafka, the group that was
        loaded first stays.
        """
        added = [group for group in groups if group.group_id not in self._groups]
        for group in added:
            self._add(group, partition)
        self.ownership.finish_loading(partition)
        return added

    def remove_partition(self, partition: int) -> list[GroupBase]:
        """Remove the groups of a partition that this broker does not coordinate any more, and return them."""
        groups = list(self._groups_by_partition.pop(partition, {}).values())
        for group in groups:
            del self._groups[group.group_id]
            del self._partitions[group.group_id]
            self._release_memory(group)
        self._groups_by_producer.pop(partition, None)
        return groups

    def end_transaction(self, partition: int, end: TransactionEnd) -> None:
        """The marker is in the partition's log: offsets of the transaction take effect, or are dropped.

        During a load the end is kept and applied afterwards, because the load may or may not reach the marker. If it
        did, applying the end again changes nothing.
        """
        if self.ownership.do_after_loading(partition, partial(self._end_transaction, partition, end)):
            return
        self._end_transaction(partition, end)

    def _end_transaction(self, partition: int, end: TransactionEnd) -> None:
        by_producer = self._groups_by_producer.get(partition, {})
        for group_id in by_producer.pop(end.producer_id, ()):
            group = self._groups.get(group_id)
            if group is None:  # it was removed
                continue
            group.offsets.complete_transaction(end)
            if group.offsets.has_offsets_of(end.producer_id):  # being written, or written after the marker
                self.note_transaction(group, end.producer_id)


def _clear_histories(group: GroupBase) -> None:
    group.timeline.clear()
    if group.offsets.histories is not None:
        group.offsets.histories.clear()
