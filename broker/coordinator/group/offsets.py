"""The offsets of one group: committed, being written, and waiting for a transaction to end."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ....base.topic_partition import TopicPartition
from ....protocol.text_size import text_bytes

__all__ = ["NO_LEADER_EPOCH", "CommitRecord", "GroupOffsets", "OffsetAndMetadata", "is_older", "value_bytes"]

NO_LEADER_EPOCH = -1
_OFFSET_BYTES = 400


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """One committed offset. ``leader_epoch`` −1: none. ``expire_timestamp_ms`` comes from OffsetCommit v2–4 only."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None = None


class CommitRecord(NamedTuple):
    """A commit with the base offset of the batch that holds it in ``__consumer_offsets``; None: not written yet.

    The position decides between a plain commit and one whose transaction ended later: the later written one wins,
    which is also the one that compaction keeps.
    """

    appended_at: int | None
    value: OffsetAndMetadata


class GroupOffsets:
    """Kafka's offsets of GroupMetadata: ``committed`` is what OffsetFetch shows."""

    __slots__ = ("_committed_bytes", "_ended_by_producer", "_pending", "_pending_by_producer", "committed")

    def __init__(self) -> None:
        self._committed_bytes = 0
        self.committed: dict[TopicPartition, CommitRecord] = {}
        self._pending: dict[TopicPartition, OffsetAndMetadata] = {}
        self._pending_by_producer: dict[int, dict[TopicPartition, CommitRecord]] = {}
        self._ended_by_producer: dict[int, bool] = {}
        """Whether a transaction committed that ended before it was known whether all its offsets are written."""

    # -- plain commits

    def stage(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """These are about to be written."""
        self._pending.update(offsets)

    def on_appended(self, appended_at: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """These were written at ``appended_at``. One removed meanwhile (its topic was deleted) stays removed."""
        for partition, value in offsets.items():
            staged = self._pending.get(partition)
            if staged is None:
                continue
            self._keep_later(partition, CommitRecord(appended_at, value))
            if staged is value:
                del self._pending[partition]

    def on_append_failed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """These were not written; a newer commit in flight for the same partition stays."""
        for partition, value in offsets.items():
            if self._pending.get(partition) is value:
                del self._pending[partition]

    # -- commits inside transactions (KIP-98)

    def stage_transactional(self, producer_id: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """These are about to be written under a transaction."""
        self._ended_by_producer.pop(producer_id, None)  # this is of its next transaction
        pending = self._pending_by_producer.setdefault(producer_id, {})
        for partition, value in offsets.items():
            pending[partition] = CommitRecord(None, value)

    def on_transactional_appended(
        self, producer_id: int, appended_at: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """These were written; they show when the transaction commits."""
        pending = self._pending_by_producer.get(producer_id, {})
        for partition, value in offsets.items():
            record = pending.get(partition)
            if record is not None and record.value is value:
                pending[partition] = CommitRecord(appended_at, value)
        self._complete_what_has_ended(producer_id)

    def on_transactional_append_failed(
        self, producer_id: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """These were not written."""
        pending = self._pending_by_producer.get(producer_id)
        if pending is None:
            return
        for partition in offsets:
            pending.pop(partition, None)
        if not pending:
            del self._pending_by_producer[producer_id]
        self._complete_what_has_ended(producer_id)

    def _complete_what_has_ended(self, producer_id: int) -> None:
        is_commit = self._ended_by_producer.pop(producer_id, None)
        if is_commit is not None:
            self.complete_transaction(producer_id, is_commit=is_commit)

    def complete_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """The producer's transaction ended: its offsets take effect, or are forgotten.

        For those of which it is not known yet whether they were written, that comes when it is.
        """
        pending = self._pending_by_producer.pop(producer_id, {})
        unwritten = {partition: record for partition, record in pending.items() if record.appended_at is None}
        if unwritten:
            self._pending_by_producer[producer_id] = unwritten
            self._ended_by_producer[producer_id] = is_commit
        if is_commit:
            for partition, record in pending.items():
                if partition not in unwritten:
                    self._keep_later(partition, record)

    def load_pending(self, producer_id: int, offsets: Mapping[TopicPartition, CommitRecord]) -> None:
        """Offsets of a transaction that had no end yet when the log was read."""
        self._pending_by_producer.setdefault(producer_id, {}).update(offsets)

    @property
    def producers(self) -> Iterable[int]:
        """Ids of producers with offsets in an open transaction."""
        return self._pending_by_producer.keys()

    def load(self, partition: TopicPartition, record: CommitRecord) -> None:
        """A committed offset from the log."""
        self._keep(partition, record)

    # -- questions

    @property
    def size_bytes(self) -> int:
        """What committed offsets, and those in open transactions, take in memory, about."""
        pending = self._pending_by_producer.values()
        return self._committed_bytes + sum(value_bytes(record.value) for own in pending for record in own.values())

    def growth_bytes(self, partition: TopicPartition, value: OffsetAndMetadata) -> int:
        """By how much a commit will make this larger; 0 when it takes no more than what it replaces."""
        present = self.committed.get(partition)
        replaced = self._pending.get(partition) or (None if present is None else present.value)
        return max(0, value_bytes(value) - (0 if replaced is None else value_bytes(replaced)))

    def get(self, partition: TopicPartition) -> OffsetAndMetadata | None:
        """The committed offset."""
        record = self.committed.get(partition)
        return None if record is None else record.value

    def is_pending(self, partition: TopicPartition) -> bool:
        """Whether a commit of it is being written as a plain one."""
        return partition in self._pending

    def is_unstable(self, partition: TopicPartition) -> bool:
        """Whether a commit of it is in flight or in an open transaction (KIP-447)."""
        return partition in self._pending or any(partition in own for own in self._pending_by_producer.values())

    def is_empty(self) -> bool:
        """Nothing committed and nothing under way: the group may go."""
        return not (self.committed or self._pending or self._pending_by_producer)

    # -- removal

    def known_among(self, partitions: frozenset[TopicPartition]) -> list[TopicPartition]:
        """Those of them of which there is anything to forget. Costs what is known here, however many they are."""
        known = dict.fromkeys(chain(self.committed, self._pending, *self._pending_by_producer.values()))
        return [partition for partition in known if partition in partitions]

    def remove(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Forget everything about these; returned are those that need a tombstone.

        That is those with a committed offset, and those with one on its way to the log, which will stand before it.
        """
        removed = []
        for partition in partitions:
            was_on_its_way = self._pending.pop(partition, None) is not None
            for producer_id, own in list(self._pending_by_producer.items()):
                if own.pop(partition, None) is not None and not own:
                    del self._pending_by_producer[producer_id]
            committed = self.committed.pop(partition, None)
            if committed is not None:
                self._committed_bytes -= value_bytes(committed.value)
            if committed is not None or was_on_its_way:
                removed.append(partition)
        return removed

    def remove_all(self) -> list[TopicPartition]:
        """The same for all; open transactions stay, their ends are yet to come."""
        return self.remove(list(dict.fromkeys((*self.committed, *self._pending))))

    def _keep_later(self, partition: TopicPartition, record: CommitRecord) -> None:
        current = self.committed.get(partition)
        if current is None or is_older(current, record):
            self._keep(partition, record)

    def _keep(self, partition: TopicPartition, record: CommitRecord) -> None:
        replaced = self.committed.get(partition)
        if replaced is not None:
            self._committed_bytes -= value_bytes(replaced.value)
        self._committed_bytes += value_bytes(record.value)
        self.committed[partition] = record


def value_bytes(value: OffsetAndMetadata) -> int:
    """What an offset takes in memory, with its place."""
    return _OFFSET_BYTES + text_bytes(value.metadata)


def is_older(current: CommitRecord, other: CommitRecord) -> bool:
    """Whether ``current`` was written before ``other``; both are in the log."""
    assert current.appended_at is not None
    assert other.appended_at is not None
    return current.appended_at < other.appended_at
