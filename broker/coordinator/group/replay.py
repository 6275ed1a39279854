"""Rebuilds groups and offsets from the records of one ``__consumer_offsets`` partition."""

import logging
from collections.abc import Iterator

from ....base.topic_partition import TopicPartition
from ....protocol.codec import DecodeError
from ....protocol.records.batch import RecordBatch
from ....protocol.records.control import read_marker
from ....protocol.records.record import read_records
from ....protocol.records.walk import Record
from .group import Group
from .offsets import CommitRecord, is_older
from .records import GroupKey, OffsetKey, decode_group, decode_key, decode_offset

__all__ = ["Replay"]

logger = logging.getLogger(__name__)


class Replay:
    """Implements `Replaying`, whose docstrings are not repeated.

    ``now_ms``: the state timestamp of groups without a record of their own.

    Offsets of a transaction (KIP-98) take effect at its commit marker, unless a later record committed the same offset.
    Offsets of an open transaction stay pending, so that its end can be applied after loading.
    """

    def __init__(self, partition: int, now_ms: int) -> None:
        self._partition = partition
        self._now_ms = now_ms
        self._groups: dict[str, Group] = {}
        self._offsets: dict[str, dict[TopicPartition, CommitRecord]] = {}
        self._pending: dict[int, dict[OffsetKey, CommitRecord]] = {}
        self.record_count = 0

    def add(self, batch: RecordBatch) -> None:
        """Apply one batch."""
        for _ in self.steps(batch):
            pass

    def steps(self, batch: RecordBatch) -> Iterator[None]:
        self.record_count += batch.record_count
        if batch.is_control:
            self._end_transaction(batch)
            yield
            return
        producer_id = batch.producer_id if batch.is_transactional else None
        appended_at: int | None = None
        for record in read_records(batch):
            if appended_at is None:
                appended_at = record.offset
            try:
                self._apply(record, producer_id, appended_at)
            except DecodeError as error:
                # One bad record must not make the partition unavailable. The record it would replace stays.
                logger.error(
                    "__consumer_offsets-%d: record at offset %d skipped: %s", self._partition, record.offset, error
                )
            yield

    def entries(self) -> Iterator[Group]:
        """Every group with members, offsets or offsets in an open transaction."""
        pending: dict[str, dict[int, dict[TopicPartition, CommitRecord]]] = {}
        for producer_id, commits in self._pending.items():
            for key, record in commits.items():
                pending.setdefault(key.group_id, {}).setdefault(producer_id, {})[key.partition] = record
        for group_id in dict.fromkeys((*self._groups, *self._offsets, *pending)):
            # A group without a record of its own only committed offsets.
            group = self._groups.get(group_id) or Group(group_id, self._now_ms)
            for partition, record in self._offsets.get(group_id, {}).items():
                group.offsets.load(partition, record)
            for producer_id, own in pending.get(group_id, {}).items():
                group.offsets.load_pending(producer_id, own)
            yield group

    def _apply(self, record: Record, producer_id: int | None, appended_at: int) -> None:
        if record.key is None:
            raise DecodeError("a record without a key")
        match decode_key(record.key):
            case OffsetKey() as key:
                self._apply_offset(key, record.value, producer_id, appended_at)
            case GroupKey(group_id):
                self._apply_group(group_id, record.value)
            case unknown:
                # Groups of newer protocols (KIP-848, KIP-932), written by another coordinator.
                logger.warning(
                    "__consumer_offsets-%d: key version %d ignored at offset %d",
                    self._partition,
                    unknown.version,
                    record.offset,
                )

    def _apply_offset(self, key: OffsetKey, value: bytes | None, producer_id: int | None, appended_at: int) -> None:
        record = None if value is None else CommitRecord(appended_at, decode_offset(value))
        if record is None:
            self._delete(key)
        elif producer_id is None:
            self._keep(key, record)
        else:
            self._pending.setdefault(producer_id, {})[key] = record

    def _apply_group(self, group_id: str, value: bytes | None) -> None:
        if value is None:
            self._groups.pop(group_id, None)
        else:
            self._groups[group_id] = decode_group(group_id, value)

    def _end_transaction(self, batch: RecordBatch) -> None:
        marker = read_marker(batch)
        if marker is None:
            return
        pending = self._pending.pop(batch.producer_id, {})
        if not marker.is_commit:
            return
        for key, record in pending.items():
            current = self._offsets.get(key.group_id, {}).get(key.partition)
            if current is None or is_older(current, record):
                self._keep(key, record)

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
