"""The records of ``__share_group_state``, byte for byte as Kafka 4.2 writes them.

The version of a key says what the record is: 0 a snapshot, 1 an update. A snapshot without a value deletes the state.
"""

import struct
from collections.abc import Iterable, Sequence
from itertools import chain

from ....base.buffer import Buffer
from ....protocol.codec import DecodeError, decode
from ....protocol.codec.varint import uvarint
from ....protocol.messages.share_group_state import (
    ShareSnapshotKey,
    ShareSnapshotValue,
    ShareUpdateKey,
    ShareUpdateValue,
)
from ....protocol.messages.share_group_state import StateBatch as StoredBatch
from ..versioned import split_version, with_version
from .ports import SharePartitionKey
from .state import DELETION, UNKNOWN_COUNT, Deletion, Snapshot, StateRecord, Update
from .state_batch import StateBatch

__all__ = ["decode_record", "encode_record"]

_SNAPSHOT = 0
_UPDATE = 1
_VALUE_VERSION = 0
_BATCH = "qqbhx"
"""A batch of a state, and that no tagged fields follow."""
_TOGETHER = 100
_BATCHES = struct.Struct(">" + _TOGETHER * _BATCH)
_TAGS_BYTES = {True: 1, False: 7}
"""Bytes behind the batches of a value, by whether the number of completed deliveries is unknown."""


def encode_record(key: SharePartitionKey, record: StateRecord) -> tuple[bytes, bytes | None]:
    """Key and value."""
    group_id, topic_id, partition = key
    if isinstance(record, Update):
        update_key = ShareUpdateKey(group_id=group_id, topic_id=topic_id, partition=partition)
        return with_version(update_key, _UPDATE), _with_batches(_update_value(record), record.batches)
    snapshot_key = ShareSnapshotKey(group_id=group_id, topic_id=topic_id, partition=partition)
    if isinstance(record, Deletion):
        return with_version(snapshot_key, _SNAPSHOT), None
    return with_version(snapshot_key, _SNAPSHOT), _with_batches(_snapshot_value(record), record.batches)


def decode_record(key: Buffer, value: Buffer | None) -> tuple[SharePartitionKey, StateRecord]:
    """The share partition and the record. Raises DecodeError for a broken record or a version that is not known."""
    version, body = split_version(key)
    if version not in (_SNAPSHOT, _UPDATE):
        raise DecodeError(f"version {version} of the key is unknown")
    # The keys of both kinds have the same form.
    parsed = decode(ShareSnapshotKey, body, 0)
    found = SharePartitionKey(parsed.group_id, parsed.topic_id, parsed.partition)
    if value is None:
        if version == _UPDATE:
            raise DecodeError("an update without a value")
        return found, DELETION
    value_version, value_body = split_version(value)
    if value_version != _VALUE_VERSION:
        raise DecodeError(f"version {value_version} of the value is unknown")
    return found, _snapshot_of(value_body) if version == _SNAPSHOT else _update_of(value_body)


def _snapshot_value(record: Snapshot) -> ShareSnapshotValue:
    return ShareSnapshotValue(
        snapshot_epoch=record.snapshot_epoch,
        state_epoch=record.state_epoch,
        leader_epoch=record.leader_epoch,
        start_offset=record.start_offset,
        delivery_complete_count=record.delivery_complete_count,
        create_timestamp=record.created_ms,
        write_timestamp=record.written_ms,
    )


def _update_value(record: Update) -> ShareUpdateValue:
    return ShareUpdateValue(
        snapshot_epoch=record.snapshot_epoch,
        leader_epoch=record.leader_epoch,
        start_offset=record.start_offset,
        delivery_complete_count=record.delivery_complete_count,
    )


def _snapshot_of(body: Buffer) -> Snapshot:
    value = decode(ShareSnapshotValue, body, _VALUE_VERSION)
    return Snapshot(
        value.snapshot_epoch,
        value.state_epoch,
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        value.create_timestamp,
        value.write_timestamp,
        _batches(value.state_batches),
    )


def _update_of(body: Buffer) -> Update:
    value = decode(ShareUpdateValue, body, _VALUE_VERSION)
    return Update(
        value.snapshot_epoch,
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        _batches(value.state_batches),
    )


def _with_batches(value: ShareSnapshotValue | ShareUpdateValue, batches: Sequence[StateBatch]) -> bytes:
    """The encoded value with batches, which it lacks: many are packed faster here than by the codec."""
    encoded = with_version(value, _VALUE_VERSION)
    behind = _TAGS_BYTES[value.delivery_complete_count == UNKNOWN_COUNT]
    numbers = list(chain.from_iterable(batches))
    whole = len(batches) // _TOGETHER * _TOGETHER
    step = len(StateBatch._fields) * _TOGETHER
    end = len(StateBatch._fields) * whole
    packed = b"".join([_BATCHES.pack(*numbers[begin : begin + step]) for begin in range(0, end, step)])
    packed += struct.pack(">" + (len(batches) - whole) * _BATCH, *numbers[end:])
    return b"".join((encoded[: -behind - 1], uvarint(len(batches) + 1), packed, encoded[-behind:]))


def _batches(stored: Iterable[StoredBatch]) -> tuple[StateBatch, ...]:
    batches = tuple(
        StateBatch(each.first_offset, each.last_offset, each.delivery_state, each.delivery_count) for each in stored
    )
    for batch in batches:
        if not 0 <= batch.first_offset <= batch.last_offset:
            raise DecodeError(f"a batch from offset {batch.first_offset} to {batch.last_offset}")
    return batches
