"""The latest state of each group in a partition of `__consumer_offsets`."""

from __future__ import annotations

import struct
from dataclasses import dataclass, replace

from ...base.topic_partition import TopicPartition
from ...protocol.codec import DecodeError, decode_prefix
from ...protocol.messages.consumer_offsets import (
    GroupMetadataKey,
    GroupMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from ...protocol.records.record import Record, read_records
from ...storage.files.files import Files
from ...storage.segment.segment_reader import SegmentReader
from .replica import Replica

_VERSION = struct.Struct(">h")
_OFFSET_KEYS = (0, 1)
_GROUP_KEY = 2


@dataclass(frozen=True, slots=True)
class GroupState:
    """The latest state of a group. `generation` is -1 and `members` is 0 for a group that only stored offsets."""

    group: str
    protocol_type: str
    generation: int
    members: int
    offsets: tuple[tuple[TopicPartition, int], ...]


def summarise_groups(files: Files, replica: Replica) -> tuple[GroupState, ...]:
    """Returns the groups, sorted by name. Memory: one entry for each group and partition. Raises
    OSError, KafkaError."""
    summary = GroupSummary()
    for segment in replica.files.segments:
        with SegmentReader(files, segment.log_path, max_bytes=segment.size_bytes) as reader:
            for _, batch in reader.batches():
                if batch.is_control:
                    continue
                for record in read_records(batch):
                    summary.see(record)
    return summary.groups()


class GroupSummary:
    """Builds the groups from records in log order. Offsets of transactions count when written, committed or not."""

    def __init__(self) -> None:
        self._groups: dict[str, GroupState] = {}
        self._offsets: dict[str, dict[TopicPartition, int]] = {}

    def see(self, record: Record) -> None:
        """Adds a record. Other kinds and unreadable records are ignored."""
        if record.key is None or len(record.key) < _VERSION.size:
            return
        (kind,) = _VERSION.unpack_from(record.key)
        try:
            if kind in _OFFSET_KEYS:
                self._see_offset(record.key, record.value, kind)
            elif kind == _GROUP_KEY:
                self._see_group(record.key, record.value)
        except DecodeError:
            return

    def groups(self) -> tuple[GroupState, ...]:
        """Returns the groups, sorted by name."""
        names = sorted(self._groups.keys() | {name for name, offsets in self._offsets.items() if offsets})
        return tuple(
            replace(
                self._groups.get(name, GroupState(name, "", -1, 0, ())),
                offsets=tuple(sorted(self._offsets.get(name, {}).items())),
            )
            for name in names
        )

    def _see_offset(self, key_bytes: bytes, value_bytes: bytes | None, kind: int) -> None:
        key, _ = decode_prefix(OffsetCommitKey, key_bytes, kind, _VERSION.size)
        offsets = self._offsets.setdefault(key.group, {})
        at = TopicPartition(key.topic, key.partition)
        if value_bytes is None:
            offsets.pop(at, None)
            return
        value, _ = decode_prefix(OffsetCommitValue, value_bytes, _version_of(value_bytes), _VERSION.size)
        offsets[at] = value.offset

    def _see_group(self, key_bytes: bytes, value_bytes: bytes | None) -> None:
        key, _ = decode_prefix(GroupMetadataKey, key_bytes, _GROUP_KEY, _VERSION.size)
        if value_bytes is None:
            self._groups.pop(key.group, None)
            return
        value, _ = decode_prefix(GroupMetadataValue, value_bytes, _version_of(value_bytes), _VERSION.size)
        self._groups[key.group] = GroupState(key.group, value.protocol_type, value.generation, len(value.members), ())


def _version_of(value: bytes) -> int:
    if len(value) < _VERSION.size:
        raise DecodeError("a value without a version")
    (version,) = _VERSION.unpack_from(value)
    return int(version)
