"""The offsets of one group: committed, being written, or in an open transaction."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple

from ....base.topic_partition import TopicPartition
from ....protocol.text_size import text_bytes

__all__ = ["CommitRecord", "GroupOffsets", "OffsetAndMetadata", "is_older", "value_bytes"]

_OFFSET_BYTES = 400


@dataclass(frozen=True, slots=True)
class OffsetAndMetadata:
    """One committed offset. ``leader_epoch`` −1: unknown. ``expire_timestamp_ms``: from OffsetCommit v2-4 only."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None = None


class CommitRecord(NamedTuple):
    """A commit, and the base offset of its batch in ``__consumer_offsets`` (None: not written yet).

    If a plain and a transactional commit are for one partition, the one written later wins. Compaction keeps that
    record too.
    """

    appended_at: int | None
    value: OffsetAndMetadata


class GroupOffsets:
    """The offsets in Kafka's GroupMetadata. OffsetFetch returns those in ``committed``."""

    __slots__ = ("_committed_bytes", "_ended_by_producer", "_pending", "_pending_by_producer", "committed")

    def __init__(self) -> None:
        self._committed_bytes = 0
        self.committed: dict[TopicPartition, CommitRecord] = {}
        self._pending: dict[TopicPartition, OffsetAndMetadata] = {}
        self._pending_by_producer: dict[int, dict[TopicPartition, CommitRecord]] = {}
        self._ended_by_producer: dict[int, bool] = {}
        """Producer id → is_commit, for transactions that ended while some of their offsets were being written."""

    # -- plain commits

    def stage(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Note plain commits before they are written."""
        self._pending.update(offsets)

    def on_appended(self, appended_at: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Plain commits were written at ``appended_at``. An offset removed meanwhile (deleted topic) stays removed."""
        for partition, value in offsets.items():
            staged = self._pending.get(partition)
            if staged is None:
                continue
            self._keep_later(partition, CommitRecord(appended_at, value))
            if staged is value:
                del self._pending[partition]

    def on_append_failed(self, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Plain commits were not written. A newer commit for the same partition that is being written stays."""
        for partition, value in offsets.items():
            if self._pending.get(partition) is value:
                del self._pending[partition]

    # -- commits inside transactions (KIP-98)

    def stage_transactional(self, producer_id: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]) -> None:
        """Note transactional commits before they are written."""
        self._ended_by_producer.pop(producer_id, None)  # the producer began its next transaction
        pending = self._pending_by_producer.setdefault(producer_id, {})
        for partition, value in offsets.items():
            pending[partition] = CommitRecord(None, value)

    def on_transactional_appended(
        self, producer_id: int, appended_at: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """Transactional commits were written. They take effect when the transaction commits."""
        pending = self._pending_by_producer.get(producer_id, {})
        for partition, value in offsets.items():
            record = pending.get(partition)
            if record is not None and record.value is value:
                pending[partition] = CommitRecord(appended_at, value)
        self._complete_what_has_ended(producer_id)

    def on_transactional_append_failed(
        self, producer_id: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """Transactional commits were not written."""
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
        """The producer's transaction ended: its offsets take effect, or are dropped.

        Offsets whose append is still running are completed when the append finishes.
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
        """Offsets of a transaction that is still open at the end of the log."""
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
        """Estimated memory of committed offsets and of offsets in open transactions."""
        pending = self._pending_by_producer.values()
        return self._committed_bytes + sum(value_bytes(record.value) for own in pending for record in own.values())

    def growth_bytes(self, partition: TopicPartition, value: OffsetAndMetadata) -> int:
        """By how much a commit increases the memory; 0 when it is no larger than the commit it replaces."""
        present = self.committed.get(partition)
        replaced = self._pending.get(partition) or (None if present is None else present.value)
        return max(0, value_bytes(value) - (0 if replaced is None else value_bytes(replaced)))

    def get(self, partition: TopicPartition) -> OffsetAndMetadata | None:
        """The committed offset; None when there is none."""
        record = self.committed.get(partition)
        return None if record is None else record.value

    def is_pending(self, partition: TopicPartition) -> bool:
        """Whether a plain commit for the partition is being written."""
        return partition in self._pending

    def is_unstable(self, partition: TopicPartition) -> bool:
        """Whether a commit for the partition is being written or in an open transaction (KIP-447)."""
        return partition in self._pending or any(partition in own for own in self._pending_by_producer.values())

    def is_empty(self) -> bool:
        """Whether nothing is committed, being written or in an open transaction."""
        return not (self.committed or self._pending or self._pending_by_producer)

    # -- removal

    def known_among(self, partitions: frozenset[TopicPartition]) -> list[TopicPartition]:
        """The partitions that have an offset here. Takes time for the offsets here, not for ``partitions``."""
        return [partition for partition in self._known() if partition in partitions]

    def remove(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Remove all offsets of these partitions. Returns those that had any, because each needs a tombstone.

        The log has the commits before the tombstone, including those that are being written. Without a tombstone, an
        offset of an open transaction would come back at a later load, when its commit marker is read (KAFKA-19163).
        """
        removed = []
        for partition in partitions:
            is_known = self._pending.pop(partition, None) is not None
            for producer_id, own in list(self._pending_by_producer.items()):
                if own.pop(partition, None) is not None:
                    is_known = True
                    if not own:
                        del self._pending_by_producer[producer_id]
            committed = self.committed.pop(partition, None)
            if committed is not None:
                self._committed_bytes -= value_bytes(committed.value)
            if is_known or committed is not None:
                removed.append(partition)
        return removed

    def remove_all(self) -> list[TopicPartition]:
        """`remove` for all partitions."""
        return self.remove(self._known())

    def _known(self) -> Iterable[TopicPartition]:
        """Every partition with an offset here, once."""
        return dict.fromkeys(chain(self.committed, self._pending, *self._pending_by_producer.values()))

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
    """Estimated memory of an offset with its dictionary entry."""
    return _OFFSET_BYTES + text_bytes(value.metadata)


def is_older(current: CommitRecord, other: CommitRecord) -> bool:
    """Whether ``current`` was written before ``other``; both are in the log."""
    assert current.appended_at is not None
    assert other.appended_at is not None
    return current.appended_at < other.appended_at
