"""The offsets of one group: committed, being written, or in an open transaction."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import NamedTuple

from ....base.frozen import frozen
from ....base.topic_partition import TopicPartition
from ....protocol.text_size import text_bytes
from ..transaction_end import TransactionEnd
from .commit_history import CommitHistories

__all__ = ["CommitRecord", "GroupOffsets", "OffsetAndMetadata", "is_older", "value_bytes"]

_OFFSET_BYTES = 400


@frozen
class OffsetAndMetadata:
    """One committed offset. ``leader_epoch`` −1: unknown. ``expire_timestamp_ms``: from OffsetCommit v2-4 only."""

    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int | None = None


class CommitRecord(NamedTuple):
    """A commit, and the base offset of its batch in ``__consumer_offsets``.

    If a plain and a transactional commit are for one partition, the one written later wins. Compaction keeps that
    record too.
    """

    appended_at: int
    value: OffsetAndMetadata


class _RunningWrite(NamedTuple):
    """Transactional commits whose append is running. ``left``: those whose partition was not removed meanwhile."""

    offsets: Mapping[TopicPartition, OffsetAndMetadata]
    left: dict[TopicPartition, OffsetAndMetadata]


class GroupOffsets:
    """The offsets in Kafka's GroupMetadata. OffsetFetch returns those in ``committed``."""

    __slots__ = (
        "_committed_bytes",
        "_ends_by_producer",
        "_pending",
        "_pending_by_producer",
        "_writes_by_producer",
        "committed",
        "histories",
    )

    def __init__(self) -> None:
        self._committed_bytes = 0
        self.committed: dict[TopicPartition, CommitRecord] = {}
        self.histories: CommitHistories | None = None
        """The last commits; None while the group is in no registry."""
        self._pending: dict[TopicPartition, OffsetAndMetadata] = {}
        self._pending_by_producer: dict[int, dict[TopicPartition, CommitRecord]] = {}
        self._writes_by_producer: dict[int, list[_RunningWrite]] = {}
        self._ends_by_producer: dict[int, list[TransactionEnd]] = {}
        """Ends that came while commits of the producer were being written, before or after the marker."""

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
        self._writes_by_producer.setdefault(producer_id, []).append(_RunningWrite(offsets, dict(offsets)))

    def on_transactional_appended(
        self, producer_id: int, appended_at: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """The staged ``offsets`` were written. They take effect when the transaction commits, or has committed."""
        ends = (end for end in self._ends_by_producer.get(producer_id, ()) if end.marker_offset > appended_at)
        end = min(ends, key=lambda each: each.marker_offset, default=None)
        written = {
            partition: CommitRecord(appended_at, value)
            for partition, value in self._take_write(producer_id, offsets).items()
        }
        if end is None:
            self._add_pending(producer_id, written)
        elif end.is_commit:
            self._commit(written)

    def on_transactional_append_failed(
        self, producer_id: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> None:
        """The staged ``offsets`` were not written."""
        self._take_write(producer_id, offsets)

    def complete_transaction(self, end: TransactionEnd) -> None:
        """The producer's transaction ended: its offsets take effect, or are dropped.

        Offsets whose append is still running are completed when the append finishes and its offset is known.
        """
        producer_id = end.producer_id
        pending = self._pending_by_producer.pop(producer_id, {})
        later = {partition: record for partition, record in pending.items() if record.appended_at > end.marker_offset}
        if later:
            self._pending_by_producer[producer_id] = later
        if producer_id in self._writes_by_producer:
            self._ends_by_producer.setdefault(producer_id, []).append(end)
        if end.is_commit:
            self._commit({partition: record for partition, record in pending.items() if partition not in later})

    def _add_pending(self, producer_id: int, written: Mapping[TopicPartition, CommitRecord]) -> None:
        if not written:
            return
        pending = self._pending_by_producer.setdefault(producer_id, {})
        for partition, record in written.items():
            current = pending.get(partition)
            if current is None or is_older(current, record):
                pending[partition] = record

    def _take_write(
        self, producer_id: int, offsets: Mapping[TopicPartition, OffsetAndMetadata]
    ) -> dict[TopicPartition, OffsetAndMetadata]:
        """End a running write. Returns the offsets that were not removed while it ran."""
        writes = self._writes_by_producer.get(producer_id, [])
        taken = next((write for write in writes if write.offsets is offsets), None)
        self._keep_writes(producer_id, [write for write in writes if write is not taken])
        return {} if taken is None else taken.left

    def _keep_writes(self, producer_id: int, writes: list[_RunningWrite]) -> None:
        if writes:
            self._writes_by_producer[producer_id] = writes
        else:
            self._writes_by_producer.pop(producer_id, None)
            self._ends_by_producer.pop(producer_id, None)

    def load_pending(self, producer_id: int, offsets: Mapping[TopicPartition, CommitRecord]) -> None:
        """Offsets of a transaction that is still open at the end of the log."""
        self._pending_by_producer.setdefault(producer_id, {}).update(offsets)

    @property
    def producers(self) -> Iterable[int]:
        """Ids of producers with offsets in an open transaction."""
        return self._pending_by_producer.keys() | self._writes_by_producer.keys()

    def has_offsets_of(self, producer_id: int) -> bool:
        """Whether the producer has offsets that are being written, or in an open transaction."""
        return producer_id in self._pending_by_producer or producer_id in self._writes_by_producer

    def load(self, partition: TopicPartition, record: CommitRecord) -> None:
        """A committed offset from the log."""
        self._keep(partition, record)

    # -- questions

    @property
    def size_bytes(self) -> int:
        """Estimated memory of committed offsets and of offsets in open transactions."""
        pending = (record.value for own in self._pending_by_producer.values() for record in own.values())
        being_written = (value for left in self._left_of_writes() for value in left.values())
        return self._committed_bytes + sum(map(value_bytes, chain(pending, being_written)))

    def growth_bytes(self, partition: TopicPartition, value: OffsetAndMetadata, producer_id: int | None = None) -> int:
        """By how much a commit increases the memory; 0 when it is no larger than the commit it replaces.

        ``producer_id``: of a transactional commit. It replaces only an earlier commit of the same transaction.
        """
        if producer_id is None:
            present = self._pending.get(partition) or self.get(partition)
        else:
            present = self._pending_of(producer_id, partition)
        return max(0, value_bytes(value) - (0 if present is None else value_bytes(present)))

    def _pending_of(self, producer_id: int, partition: TopicPartition) -> OffsetAndMetadata | None:
        """The written commit that the producer's next one replaces; None while an earlier one is being written."""
        if any(partition in write.left for write in self._writes_by_producer.get(producer_id, ())):
            return None
        record = self._pending_by_producer.get(producer_id, {}).get(partition)
        return None if record is None else record.value

    def get(self, partition: TopicPartition) -> OffsetAndMetadata | None:
        """The committed offset; None when there is none."""
        record = self.committed.get(partition)
        return None if record is None else record.value

    def is_pending(self, partition: TopicPartition) -> bool:
        """Whether a plain commit for the partition is being written."""
        return partition in self._pending

    def is_unstable(self, partition: TopicPartition) -> bool:
        """Whether a commit for the partition is being written or in an open transaction (KIP-447)."""
        return partition in self._pending or any(partition in own for own in self._in_transactions())

    def is_empty(self) -> bool:
        """Whether nothing is committed, being written or in an open transaction."""
        return not (self.committed or self._pending or self._pending_by_producer or self._writes_by_producer)

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
            is_known = self._remove_from_writes(partition) or is_known
            committed = self.committed.pop(partition, None)
            if committed is not None:
                self._committed_bytes -= value_bytes(committed.value)
                if self.histories is not None:
                    self.histories.forget(partition)
            if is_known or committed is not None:
                removed.append(partition)
        return removed

    def _remove_from_writes(self, partition: TopicPartition) -> bool:
        """Remove the partition from all running writes. False when it is in none of them."""
        is_known = False
        for producer_id, writes in list(self._writes_by_producer.items()):
            for write in writes:
                is_known = write.left.pop(partition, None) is not None or is_known
            self._keep_writes(producer_id, [write for write in writes if write.left])
        return is_known

    def remove_all(self) -> list[TopicPartition]:
        """`remove` for all partitions."""
        return self.remove(self._known())

    def _known(self) -> Iterable[TopicPartition]:
        """Every partition with an offset here, once."""
        return dict.fromkeys(chain(self.committed, self._pending, *self._in_transactions()))

    def _in_transactions(self) -> Iterator[Mapping[TopicPartition, object]]:
        yield from self._pending_by_producer.values()
        yield from self._left_of_writes()

    def _left_of_writes(self) -> Iterable[dict[TopicPartition, OffsetAndMetadata]]:
        return (write.left for writes in self._writes_by_producer.values() for write in writes)

    def _commit(self, records: Mapping[TopicPartition, CommitRecord]) -> None:
        for partition, record in records.items():
            self._keep_later(partition, record)

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
        if self.histories is not None:
            self.histories.note(partition, record.value.offset)


def value_bytes(value: OffsetAndMetadata) -> int:
    """Estimated memory of an offset with its dictionary entry."""
    return _OFFSET_BYTES + text_bytes(value.metadata)


def is_older(current: CommitRecord, other: CommitRecord) -> bool:
    """Whether ``current`` was written before ``other``; both are in the log."""
    return current.appended_at < other.appended_at
