"""The states of share partitions in memory, by the partition of ``__share_group_state`` that stores them."""

import logging
from collections.abc import Callable, Iterable

from ....base.coordinator_partition import partition_for_key
from ....base.quiet_lines import QUIET
from ....protocol.errors import ErrorCode
from ..entry_memory import EntryMemory
from ..ownership import PartitionOwnership
from .coordinator_key import coordinator_key
from .entry import Entry
from .memory import BATCH_BYTES, state_bytes
from .ports import SharePartitionKey
from .state import Snapshot, StoredState, Update, state_after

__all__ = ["ShareRegistry"]

logger = logging.getLogger(__name__)


class ShareRegistry:
    """``partition_count``: of the topic, which never gets more partitions."""

    def __init__(self, partition_count: Callable[[], int], max_bytes: int) -> None:
        self._partition_count = partition_count
        self.ownership = PartitionOwnership()
        self.memory = EntryMemory(max_bytes)
        self._entries: dict[int, dict[SharePartitionKey, Entry]] = {}
        """By owned partition."""

    def partition_for(self, key: SharePartitionKey) -> int:
        """The partition of ``__share_group_state`` that stores the state."""
        return self.partition_for_text(coordinator_key(key))

    def partition_for_text(self, key: str) -> int:
        """As `partition_for`, for a key of FindCoordinator."""
        return partition_for_key(key, self._partition_count())

    def entry(self, partition: int, key: SharePartitionKey) -> Entry:
        """The entry in an owned partition, new and empty if there is none. Call `forget_if_empty` after its use."""
        entries = self._entries[partition]
        if key not in entries:
            entries[key] = Entry(partition, key)
            self.memory.used_bytes += entries[key].size_bytes
        return entries[key]

    def get(self, key: SharePartitionKey) -> Entry | None:
        return self._entries.get(self.partition_for(key), {}).get(key)

    def check_new(self, key: SharePartitionKey) -> ErrorCode:
        """NONE when the entry, which has no state yet, is within the limit of memory."""
        return ErrorCode.NONE if self.memory.has_space_for(0) else self._refused(key)

    def check_growth(self, key: SharePartitionKey, state: StoredState | None, record: Snapshot | Update) -> ErrorCode:
        """NONE when the state does not grow by the record, or grows within the limit of memory."""
        if self.memory.has_space_for(2 * BATCH_BYTES * len(record.batches)):  # each may cut another in two
            return ErrorCode.NONE
        growth = state_bytes(key, state_after(state, record)) - state_bytes(key, state)
        return ErrorCode.NONE if growth <= 0 or self.memory.has_space_for(growth) else self._refused(key)

    def set_state(self, entry: Entry, state: StoredState | None) -> None:
        """Replace the state of an entry that is in use."""
        entry.state = state
        size_bytes = state_bytes(entry.key, state)
        self.memory.used_bytes += size_bytes - entry.size_bytes
        entry.size_bytes = size_bytes

    def forget_if_empty(self, entry: Entry) -> None:
        """Forget an entry without state for which nothing waits."""
        entries = self._entries.get(entry.partition, {})
        if entry.state is None and entry.is_idle and entries.get(entry.key) is entry:
            del entries[entry.key]
            self.memory.used_bytes -= entry.size_bytes

    def partitions(self) -> list[int]:
        """The owned partitions."""
        return list(self._entries)

    def entries_in(self, partition: int) -> list[Entry]:
        """A snapshot of the entries of a partition."""
        return list(self._entries.get(partition, {}).values())

    def finish_loading(self, partition: int, entries: Iterable[Entry]) -> None:
        """The partition is owned now, with these entries, even if they take more memory than the limit."""
        self._entries[partition] = {entry.key: entry for entry in entries}
        self.memory.used_bytes += sum(entry.size_bytes for entry in self._entries[partition].values())
        self.ownership.finish_loading(partition)

    def remove_partition(self, partition: int) -> list[Entry]:
        """Forget the entries of a partition that this broker does not coordinate any more, and return them."""
        entries = list(self._entries.pop(partition, {}).values())
        self.memory.used_bytes -= sum(entry.size_bytes for entry in entries)
        return entries

    def _refused(self, key: SharePartitionKey) -> ErrorCode:
        logger.warning(
            "group %s: state of a share partition not stored: %d of pybroker.share.states.max.bytes=%d are used",
            key.group_id,
            self.memory.used_bytes,
            self.memory.max_bytes,
            extra=QUIET,
        )
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
