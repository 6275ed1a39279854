"""Rebuilds the committed offsets of all groups from their records."""

from collections.abc import Iterable

from ....base.buffer import Buffer
from ....base.topic_partition import TopicPartition
from .base import GroupBase
from .offsets import CommitRecord, is_older
from .record_keys import OffsetKey, decode_offset_key
from .records import decode_offset
from .replay_part import ReplayedBatch

__all__ = ["OffsetReplay"]


class OffsetReplay:
    """A `ReplayPart` without groups: its offsets belong to groups of any type.

    Offsets of a transaction (KIP-98) take effect at its commit marker, unless a later record committed the same offset.
    Offsets of an open transaction stay pending, so that its end can be applied after loading.
    """

    def __init__(self) -> None:
        self.groups: dict[str, GroupBase] = {}
        self._offsets: dict[str, dict[TopicPartition, CommitRecord]] = {}
        self._pending: dict[int, dict[OffsetKey, CommitRecord]] = {}

    def apply(self, version: int, key: Buffer, value: Buffer | None, batch: ReplayedBatch) -> None:
        offset_key = decode_offset_key(key, version)
        record = None if value is None else CommitRecord(batch.appended_at, decode_offset(value))
        if record is None:
            self._delete(offset_key)
        elif batch.producer_id is None:
            self._keep(offset_key, record)
        else:
            self._pending.setdefault(batch.producer_id, {})[offset_key] = record

    def end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """The log has an end marker of the producer."""
        pending = self._pending.pop(producer_id, {})
        if not is_commit:
            return
        for key, record in pending.items():
            current = self._offsets.get(key.group_id, {}).get(key.partition)
            if current is None or is_older(current, record):
                self._keep(key, record)

    def result(self) -> "ReplayedOffsets":
        """The offsets by group, when the log is at its end."""
        pending: dict[str, dict[int, dict[TopicPartition, CommitRecord]]] = {}
        for producer_id, commits in self._pending.items():
            for key, record in commits.items():
                pending.setdefault(key.group_id, {}).setdefault(producer_id, {})[key.partition] = record
        return ReplayedOffsets(self._offsets, pending)

    def _keep(self, key: OffsetKey, record: CommitRecord) -> None:
        self._offsets.setdefault(key.group_id, {})[key.partition] = record

    def _delete(self, key: OffsetKey) -> None:
        """A tombstone removes the offset, in open transactions too."""
        own = self._offsets.get(key.group_id, {})
        own.pop(key.partition, None)
        if not own:
            self._offsets.pop(key.group_id, None)
        for pending in self._pending.values():
            pending.pop(key, None)


class ReplayedOffsets:
    """``committed`` by group; ``pending`` by group and producer: in open transactions."""

    def __init__(
        self,
        committed: dict[str, dict[TopicPartition, CommitRecord]],
        pending: dict[str, dict[int, dict[TopicPartition, CommitRecord]]],
    ) -> None:
        self._committed = committed
        self._pending = pending

    @property
    def group_ids(self) -> Iterable[str]:
        """The groups with offsets, or with offsets in an open transaction."""
        return (*self._committed, *self._pending)

    def load(self, group: GroupBase) -> None:
        """Give the group its offsets."""
        for partition, record in self._committed.get(group.group_id, {}).items():
            group.offsets.load(partition, record)
        for producer_id, own in self._pending.get(group.group_id, {}).items():
            group.offsets.load_pending(producer_id, own)
