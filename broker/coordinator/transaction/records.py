"""The records of ``__transaction_state``, byte for byte as Kafka writes them.

Key: version 0, the transactional id. A null value deletes it. Value: version 0 as Kafka 3.9, or version 1 as Kafka 4,
whose tagged fields (KIP-890) carry the next and the previous producer id. Kafka 4.0 to 4.3 leave these two out
(KAFKA-20310).
"""

import struct
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ....base.buffer import Buffer
from ....base.topic_partition import TopicPartition
from ....protocol.codec import DecodeError, Message, decode, encode
from ....protocol.messages.transaction_state import (
    CLIENT_TRANSACTION_VERSION_TAG,
    NEXT_PRODUCER_ID_TAG,
    PREVIOUS_PRODUCER_ID_TAG,
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)
from ....protocol.records.batch import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from .picture import NO_PARTITIONS, NOT_STARTED, ProducerIdentity, TransactionPicture
from .states import ENDING_STATES, TransactionState

__all__ = [
    "FLEXIBLE_VERSION",
    "TaggedFields",
    "decode_key",
    "decode_state",
    "decode_value",
    "encode_key",
    "encode_value",
    "tagged_fields",
]

_KEY_VERSION = 0
FLEXIBLE_VERSION = 1
"""The first version of a value that has tagged fields."""
_VERSION = struct.Struct(">h")
_INT16 = struct.Struct(">h")
_INT64 = struct.Struct(">q")
_STORED = frozenset(TransactionState) - {TransactionState.DEAD, TransactionState.PREPARE_EPOCH_FENCE}


class TaggedFields(NamedTuple):
    """The tagged fields of a value in version 1, or their defaults."""

    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    client_transaction_version: int = 0


def encode_key(transactional_id: str) -> bytes:
    return _with_version(TransactionLogKey(transactional_id=transactional_id), _KEY_VERSION)


def encode_value(picture: TransactionPicture, version: int) -> bytes:
    """The value of a picture. Version 0 loses the transaction version and the next and previous producer id."""
    producer = picture.producer
    message = TransactionLogValue(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        transaction_timeout_ms=picture.timeout_ms,
        transaction_status=picture.state,
        transaction_partitions=None if picture.state is TransactionState.EMPTY else _by_topic(picture.partitions),
        transaction_last_update_timestamp_ms=picture.last_update_ms,
        transaction_start_timestamp_ms=picture.start_ms,
    )
    if version >= FLEXIBLE_VERSION:
        message.unknown_tags = _tags(picture)
    return _with_version(message, version)


def decode_key(key: Buffer) -> str:
    """The transactional id. Raises DecodeError for a broken key or a version that is not known."""
    version, body = _split(key)
    if version != _KEY_VERSION:
        raise DecodeError(f"version {version} of the key is unknown")
    return decode(TransactionLogKey, body, version).transactional_id


def decode_value(value: Buffer) -> TransactionPicture:
    """The picture; what the value does not carry has its default.

    Raises DecodeError for a broken value, and for a version or state that is not known. Tagged fields that are not
    known are skipped.
    """
    version, body = _split(value)
    if version not in TransactionLogValue.MESSAGE.versions:
        raise DecodeError(f"version {version} of the value is unknown")
    message = decode(TransactionLogValue, body, version)
    state = decode_state(message.transaction_status)
    if state not in _STORED:
        raise DecodeError(f"transaction status {state} is never stored")
    tagged = tagged_fields(message)
    is_empty = state is TransactionState.EMPTY
    return TransactionPicture(
        state=state,
        producer=ProducerIdentity(
            message.producer_id,
            message.producer_epoch,
            NO_PRODUCER_EPOCH,
            tagged.previous_producer_id,
            tagged.next_producer_id,
        ),
        timeout_ms=message.transaction_timeout_ms,
        partitions=NO_PARTITIONS if is_empty else _partitions(message.transaction_partitions or ()),
        start_ms=_start_ms(state, message),
        last_update_ms=message.transaction_last_update_timestamp_ms,
        transaction_version=tagged.client_transaction_version,
    )


def tagged_fields(message: TransactionLogValue) -> TaggedFields:
    """The tagged fields of a decoded value. Raises DecodeError when one is broken."""
    tags = message.unknown_tags or {}
    return TaggedFields(
        _number(tags, PREVIOUS_PRODUCER_ID_TAG, _INT64, NO_PRODUCER_ID),
        _number(tags, NEXT_PRODUCER_ID_TAG, _INT64, NO_PRODUCER_ID),
        _number(tags, CLIENT_TRANSACTION_VERSION_TAG, _INT16, 0),
    )


def decode_state(status: int) -> TransactionState:
    """The state of this number. Raises DecodeError when it is not known."""
    try:
        return TransactionState(status)
    except ValueError:
        raise DecodeError(f"transaction status {status} is unknown") from None


def _by_topic(partitions: Iterable[TopicPartition]) -> list[PartitionsSchema]:
    """In the order of names, so that equal pictures have equal bytes."""
    topics: dict[str, PartitionsSchema] = {}
    for name, partition in sorted(partitions):
        topics.setdefault(name, PartitionsSchema(topic=name)).partition_ids.append(partition)
    return list(topics.values())


def _partitions(topics: Iterable[PartitionsSchema]) -> frozenset[TopicPartition]:
    found = [TopicPartition(each.topic, partition) for each in topics for partition in each.partition_ids]
    return frozenset(found) if found else NO_PARTITIONS


def _start_ms(state: TransactionState, message: TransactionLogValue) -> int:
    """An open transaction without a start could not be ended: it started at the latest when it was written."""
    start_ms = message.transaction_start_timestamp_ms
    is_open = state is TransactionState.ONGOING or state in ENDING_STATES
    return message.transaction_last_update_timestamp_ms if is_open and start_ms == NOT_STARTED else start_ms


def _tags(picture: TransactionPicture) -> dict[int, bytes]:
    """As Kafka writes tagged fields: without the fields that have their default."""
    tags: dict[int, bytes] = {}
    if picture.producer.previous_producer_id != NO_PRODUCER_ID:
        tags[PREVIOUS_PRODUCER_ID_TAG] = _INT64.pack(picture.producer.previous_producer_id)
    if picture.producer.next_producer_id != NO_PRODUCER_ID:
        tags[NEXT_PRODUCER_ID_TAG] = _INT64.pack(picture.producer.next_producer_id)
    if picture.transaction_version:
        tags[CLIENT_TRANSACTION_VERSION_TAG] = _INT16.pack(picture.transaction_version)
    return tags


def _number(tags: Mapping[int, Buffer], tag: int, form: struct.Struct, default: int) -> int:
    data = tags.get(tag)
    if data is None:
        return default
    if len(data) != form.size:
        raise DecodeError(f"tagged field {tag} has {len(data)} bytes, expected {form.size}")
    number: int = form.unpack(data)[0]
    return number


def _with_version(message: Message, version: int) -> bytes:
    return _VERSION.pack(version) + encode(message, version)


def _split(data: Buffer) -> tuple[int, Buffer]:
    if len(data) < _VERSION.size:
        raise DecodeError(f"{len(data)} bytes are too short for a version")
    return _VERSION.unpack_from(data)[0], memoryview(data)[_VERSION.size :]
