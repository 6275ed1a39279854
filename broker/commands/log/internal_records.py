"""Decodes records of Kafka's internal topics, as Kafka's DumpLogSegments prints them."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ....base.topic_partition import TopicPartition
from ....protocol.codec import DecodeError, Message, decode_prefix
from ....protocol.codec.json_form import to_json
from ....protocol.messages import consumer_offsets as stored
from ....protocol.messages import consumer_protocol, share_group_state
from ....protocol.messages.transaction_state import TransactionLogKey, TransactionLogValue
from ....protocol.records.record import Record
from ...coordinator.transaction.records import TaggedFields, decode_state, tagged_fields

__all__ = [
    "DecodedRecord",
    "RecordDecoder",
    "decode_offsets_record",
    "decode_share_state_record",
    "decode_transaction_record",
]

Json = Any

_VERSION = struct.Struct(">h")
_DELETED = "<DELETE>"

# By the version of the key, which tells the kind of record.
_OFFSETS_MESSAGES: dict[int, tuple[type[Message], type[Message]]] = {
    0: (stored.OffsetCommitKey, stored.OffsetCommitValue),
    1: (stored.OffsetCommitKey, stored.OffsetCommitValue),
    2: (stored.GroupMetadataKey, stored.GroupMetadataValue),
    3: (stored.ConsumerGroupMetadataKey, stored.ConsumerGroupMetadataValue),
    4: (stored.ConsumerGroupPartitionMetadataKey, stored.ConsumerGroupPartitionMetadataValue),
    5: (stored.ConsumerGroupMemberMetadataKey, stored.ConsumerGroupMemberMetadataValue),
    6: (stored.ConsumerGroupTargetAssignmentMetadataKey, stored.ConsumerGroupTargetAssignmentMetadataValue),
    7: (stored.ConsumerGroupTargetAssignmentMemberKey, stored.ConsumerGroupTargetAssignmentMemberValue),
    8: (stored.ConsumerGroupCurrentMemberAssignmentKey, stored.ConsumerGroupCurrentMemberAssignmentValue),
    10: (stored.ShareGroupMemberMetadataKey, stored.ShareGroupMemberMetadataValue),
    11: (stored.ShareGroupMetadataKey, stored.ShareGroupMetadataValue),
    12: (stored.ShareGroupTargetAssignmentMetadataKey, stored.ShareGroupTargetAssignmentMetadataValue),
    13: (stored.ShareGroupTargetAssignmentMemberKey, stored.ShareGroupTargetAssignmentMemberValue),
    14: (stored.ShareGroupCurrentMemberAssignmentKey, stored.ShareGroupCurrentMemberAssignmentValue),
    15: (stored.ShareGroupStatePartitionMetadataKey, stored.ShareGroupStatePartitionMetadataValue),
    16: (stored.ConsumerGroupRegularExpressionKey, stored.ConsumerGroupRegularExpressionValue),
}
_SHARE_STATE_MESSAGES: dict[int, tuple[type[Message], type[Message]]] = {
    0: (share_group_state.ShareSnapshotKey, share_group_state.ShareSnapshotValue),
    1: (share_group_state.ShareUpdateKey, share_group_state.ShareUpdateValue),
}
_SUBSCRIPTION_FIELDS: dict[str, type[Message]] = {
    "subscription": consumer_protocol.ConsumerProtocolSubscription,
    "assignment": consumer_protocol.ConsumerProtocolAssignment,
}


class DecodedRecord(NamedTuple):
    """A record of an internal topic.

    Attributes:
        key_text: the key as Kafka prints it, or an error text when it cannot be decoded.
        value_text: the value as Kafka prints it; None when Kafka prints none.
        key, value: the same as JSON values; None when they cannot be decoded, and for a value that deletes.
        name: the group or the transactional id.
    """

    key_text: str
    value_text: str | None
    key: Json = None
    value: Json = None
    name: str | None = None


RecordDecoder = Callable[[Record], DecodedRecord]


def decode_offsets_record(record: Record) -> DecodedRecord:
    """A record of ``__consumer_offsets``."""
    return _decode(record, _OFFSETS_MESSAGES)


def decode_share_state_record(record: Record) -> DecodedRecord:
    """A record of ``__share_group_state``."""
    return _decode(record, _SHARE_STATE_MESSAGES)


def _decode(record: Record, messages: Mapping[int, tuple[type[Message], type[Message]]]) -> DecodedRecord:
    """``messages``: those of key and value, by the version of the key."""
    try:
        version = _version_of(record.key, "key")
        if version not in messages:
            return DecodedRecord(f"Unknown record type {version} at offset {record.offset}, skipping.", None)
        key_type, value_type = messages[version]
        key = {"type": str(version), "data": _message_json(key_type, record.key)}
        name = key["data"].get("group") or key["data"].get("groupId")
        if record.value is None:
            return DecodedRecord(_text(key), _DELETED, key, None, name)
        value = {"version": str(_version_of(record.value, "value")), "data": _message_json(value_type, record.value)}
        _open_member_fields(value["data"])
        return DecodedRecord(_text(key), _text(value), key, value, name)
    except DecodeError as error:
        return DecodedRecord(f"Error at offset {record.offset}, skipping. {error}", None)


def decode_transaction_record(record: Record) -> DecodedRecord:
    """A record of ``__transaction_state``."""
    try:
        version = _version_of(record.key, "key")
        if version not in TransactionLogKey.MESSAGE.versions:
            return DecodedRecord(f"unknown::version={version}", None)
        key = {"type": str(version), "data": _message_json(TransactionLogKey, record.key)}
        name = key["data"]["transactionalId"]
        key_text = f"transaction_metadata::transactionalId={name}"
        if record.value is None:
            return DecodedRecord(key_text, _DELETED, key, None, name)
        value_version = _version_of(record.value, "value")
        transaction, _ = decode_prefix(TransactionLogValue, record.value, value_version, _VERSION.size)
        data = {**to_json(transaction, value_version), **_tagged_json(transaction)}
        value = {"version": str(value_version), "data": data}
        return DecodedRecord(key_text, _transaction_text(transaction), key, value, name)
    except DecodeError as error:
        return DecodedRecord(f"Error at offset {record.offset}, skipping. {error}", None)


def _tagged_json(transaction: TransactionLogValue) -> Json:
    """The tagged fields of Kafka 4 without those that have their default, as its JSON converter prints them. Fields of
    another size belong to another version and are left out, as Kafka 3.9 leaves out all."""
    defaults = TaggedFields()
    try:
        found = tagged_fields(transaction)
    except DecodeError:
        return {}
    names = ("previousProducerId", "nextProducerId", "clientTransactionVersion")
    return {name: field for name, field, default in zip(names, found, defaults, strict=True) if field != default}


def _transaction_text(transaction: TransactionLogValue) -> str:
    state = decode_state(transaction.transaction_status)
    partitions = [
        str(TopicPartition(entry.topic, partition))
        for entry in transaction.transaction_partitions or ()
        for partition in entry.partition_ids
    ]
    return (
        f"producerId:{transaction.producer_id},producerEpoch:{transaction.producer_epoch},"
        f"state={state.title},partitions=[{','.join(partitions)}],"
        f"txnLastUpdateTimestamp={transaction.transaction_last_update_timestamp_ms},"
        f"txnTimeoutMs={transaction.transaction_timeout_ms}"
    )


def _version_of(data: bytes | None, what: str) -> int:
    if data is None or len(data) < _VERSION.size:
        raise DecodeError(f"the {what} has no version: {'null' if data is None else f'{len(data)} bytes'}")
    version: int = _VERSION.unpack_from(data)[0]
    return version


def _message_json(message_type: type[Message], data: bytes | None) -> Json:
    """The message after the version. Further bytes, from a later Kafka, are skipped as Kafka does."""
    assert data is not None
    version: int = _VERSION.unpack_from(data)[0]
    message, _ = decode_prefix(message_type, data, version, _VERSION.size)
    return to_json(message, version)


def _open_member_fields(group: Json) -> None:
    """Replace the bytes of consumers' subscriptions and assignments by their decoded form, where possible."""
    if group.get("protocolType") != "consumer":
        return
    for member in group["members"]:
        for field, message_type in _SUBSCRIPTION_FIELDS.items():
            try:
                member[field] = _message_json(message_type, _with_version(base64.b64decode(member[field])))
            except DecodeError:
                continue


def _with_version(data: bytes) -> bytes:
    _version_of(data, "field")
    return data


def _text(value: Json) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
