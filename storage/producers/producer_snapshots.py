"""Producer snapshots (`<offset>.snapshot`): the producer state at an offset, so that a start need not read the log.

    version int16 = 1, crc uint32 (CRC-32C of what follows), count int32, then per producer:
    producer id int64, epoch int16, last sequence int32, last offset int64, offset delta int32, timestamp int64,
    coordinator epoch int32, first offset of its open transaction int64 (-1 for none)

A snapshot has only the last batch of each producer, although the producer state in memory has the last five.
"""

from __future__ import annotations

import logging
import os
import struct
from collections.abc import Iterable

from ...protocol.records.batch import NO_SEQUENCE
from ...protocol.records.crc import crc32c
from ..files.files import Files, is_transient
from ..segment.segment import DELETED_SUFFIX, SNAPSHOT_SUFFIX, file_name
from .producer_state import NO_OFFSET, BatchMetadata, ProducerEntry, ProducerState

logger = logging.getLogger(__name__)

_HEAD = struct.Struct(">hI")
_COUNT = struct.Struct(">i")
_ENTRY = struct.Struct(">qhiqiqiq")
_VERSION = 1


class CorruptSnapshotError(Exception):
    """A snapshot file cannot be read. The state is rebuilt from an older snapshot or from the log."""


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    parts = []
    for entry in entries:
        last = entry.batches[-1] if entry.batches else BatchMetadata(NO_SEQUENCE, NO_OFFSET, 0, 0)
        parts.append(
            _ENTRY.pack(
                entry.producer_id,
                entry.producer_epoch,
                last.last_sequence,
                last.last_offset,
                last.offset_delta,
                entry.last_timestamp,
                entry.coordinator_epoch,
                entry.current_txn_first_offset,
            )
        )
    body = _COUNT.pack(len(parts)) + b"".join(parts)
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def decode_snapshot(data: bytes) -> list[ProducerEntry]:
    """Return the producers in a snapshot. Raises CorruptSnapshotError."""
    body = data[_HEAD.size :]
    try:
        version, crc = _HEAD.unpack_from(data)
        (count,) = _COUNT.unpack_from(body)
    except struct.error:
        raise CorruptSnapshotError(f"a snapshot of {len(data)} bytes") from None
    if version != _VERSION:
        raise CorruptSnapshotError(f"unknown version {version}")
    if crc != crc32c(body):
        raise CorruptSnapshotError(f"stored crc {crc:#x}, computed {crc32c(body):#x}")
    if count < 0 or len(body) < _COUNT.size + count * _ENTRY.size:
        raise CorruptSnapshotError(f"{count} entries do not fit in {len(data)} bytes")
    entries = []
    for fields in _ENTRY.iter_unpack(body[_COUNT.size : _COUNT.size + count * _ENTRY.size]):
        producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, txn_first_offset = fields
        entry = ProducerEntry(producer_id, epoch, coordinator_epoch, timestamp, max(txn_first_offset, NO_OFFSET))
        if offset >= 0:
            entry.batches.append(BatchMetadata(sequence, offset, delta, timestamp))
        entries.append(entry)
    return entries


class ProducerSnapshots:
    """The snapshot files of one log, by offset."""

    def __init__(self, files: Files, directory: str, offsets: Iterable[int] = ()) -> None:
        self.files = files
        self.directory = directory
        self.offsets: list[int] = sorted(offsets)
        self.last_offset = self.offsets[-1] if self.offsets else 0
        """Offset of the last snapshot that was written or loaded. No second snapshot is written there."""

    def path(self, offset: int) -> str:
        return os.path.join(self.directory, file_name(offset, SNAPSHOT_SUFFIX))

    def take(self, state: ProducerState, *, sync: bool) -> str | None:
        """Write a snapshot at the state's end offset unless there is one; return its path if it was written."""
        offset = state.end_offset
        if offset <= self.last_offset:
            return None
        path = self.path(offset)
        try:
            self.files.write_bytes(path, encode_snapshot(state.producers.values()), sync=sync)
        except OSError as error:
            if is_transient(error):
                self.files.delete(path)
            raise
        if offset not in self.offsets:
            self.offsets.append(offset)
            self.offsets.sort()
        self.last_offset = offset
        return path

    def retake(self, state: ProducerState) -> None:
        """Write a durable snapshot at the state's end offset, replacing an existing one."""
        self.delete_behind(state.end_offset - 1)
        self.take(state, sync=True)

    def take_if_there_is_space(self, state: ProducerState, *, sync: bool = True) -> None:
        """Write a snapshot, unless the disk is full. It only saves a later start some reading."""
        try:
            self.take(state, sync=sync)
        except OSError as error:
            if not is_transient(error):
                raise

    def load_latest(self, state: ProducerState, log_start_offset: int, now_ms: int) -> None:
        """Load the latest readable snapshot into `state`, or an empty state at log start.

        Unreadable ones are deleted.
        """
        while self.offsets:
            offset = self.offsets[-1]
            try:
                entries = decode_snapshot(self.files.read_bytes(self.path(offset)))
            except CorruptSnapshotError as error:
                logger.warning("%s: deleting unreadable producer snapshot %d: %s", state.topic_partition, offset, error)
                self.delete(offset)
                continue
            state.load(entries, offset, now_ms)
            self.last_offset = offset
            return
        state.clear(log_start_offset)
        self.last_offset = log_start_offset

    def delete(self, offset: int) -> None:
        if offset in self.offsets:
            self.offsets.remove(offset)
            self.files.delete(self.path(offset))

    def delete_all(self) -> None:
        for offset in list(self.offsets):
            self.delete(offset)
        self.last_offset = 0

    def delete_behind(self, end_offset: int) -> None:
        """Delete the snapshots above `end_offset`, so that new ones can be written there."""
        for offset in [offset for offset in self.offsets if offset > end_offset]:
            self.delete(offset)
        self.last_offset = self.offsets[-1] if self.offsets else 0

    def delete_outside(self, log_start_offset: int, log_end_offset: int) -> None:
        """Delete the snapshots outside (log start, log end]."""
        for offset in list(self.offsets):
            if offset > log_end_offset or offset <= log_start_offset:
                self.delete(offset)

    def remove_stray(self, segment_offsets: Iterable[int]) -> None:
        """Delete the snapshots without a segment, except the one that a clean stop leaves at the log's end."""
        known = set(segment_offsets)
        stray = [offset for offset in self.offsets if offset not in known]
        last_base = max(known, default=-1)
        if stray and stray[-1] >= last_base:
            stray.pop()
        for offset in stray:
            self.delete(offset)

    def mark_deleted(self, offset: int) -> list[str]:
        """Rename the snapshot at `offset` to `.deleted`, if there is one; return a list with the new path.

        On a disk too full for the new name it is deleted at once.
        """
        if offset not in self.offsets:
            return []
        self.offsets.remove(offset)
        path = self.path(offset)
        try:
            is_there = self.files.set_aside(path, path + DELETED_SUFFIX)
        except FileNotFoundError:
            return []
        return [path + DELETED_SUFFIX] if is_there else []
