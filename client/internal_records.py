"""Decodes records of `__consumer_offsets` and `__transaction_state` to flat JSON objects, for people to read."""

from __future__ import annotations

import struct
from typing import Any

from ..base.kafka_names import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from ..protocol.codec import DecodeError, Message, decode_prefix
from ..protocol.codec.json_form import to_json
from ..protocol.messages import consumer_offsets
from ..protocol.messages.transaction_state import TransactionLogKey, TransactionLogValue

_VERSION = struct.Struct(">h")

# By the version of the key, which tells the kind of record.
_OFFSETS: dict[int, tuple[str, type[Message], type[Message]]] = {
    0: ("offset_commit", consumer_offsets.OffsetCommitKey, consumer_offsets.OffsetCommitValue),
    1: ("offset_commit", consumer_offsets.OffsetCommitKey, consumer_offsets.OffsetCommitValue),
    2: ("group_metadata", consumer_offsets.GroupMetadataKey, consumer_offsets.GroupMetadataValue),
}
_TRANSACTIONS: dict[int, tuple[str, type[Message], type[Message]]] = {
    0: ("transaction", TransactionLogKey, TransactionLogValue),
}
_KINDS = {CONSUMER_OFFSETS_TOPIC: _OFFSETS, TRANSACTION_STATE_TOPIC: _TRANSACTIONS}
_TRANSACTION_STATES = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
    "Dead",
    "PrepareEpochFence",
)


def decode_internal(topic: str, key: bytes | None, value: bytes | None) -> dict[str, Any] | None:
    """Returns `{"type": …, …}`, with `"deleted": True` for a tombstone; None for a record that cannot be decoded."""
    kinds = _KINDS.get(topic)
    if kinds is None or key is None or len(key) < _VERSION.size:
        return None
    (version,) = _VERSION.unpack_from(key)
    if version not in kinds:
        return None
    name, key_type, value_type = kinds[version]
    try:
        found = {"type": name, **_decoded(key_type, key)}
        if value is None:
            return found | {"deleted": True}
        found |= _decoded(value_type, value)
    except DecodeError:
        return None
    state = found.get("transactionStatus")
    if isinstance(state, int) and 0 <= state < len(_TRANSACTION_STATES):
        found["state"] = _TRANSACTION_STATES[state]
    return found


def _decoded(message_type: type[Message], data: bytes) -> dict[str, Any]:
    if len(data) < _VERSION.size:
        raise DecodeError("there is no version")
    (version,) = _VERSION.unpack_from(data)
    if version not in message_type.MESSAGE.versions:
        raise DecodeError(f"version {version} is unknown")
    message, _ = decode_prefix(message_type, data, version, _VERSION.size)
    return to_json(message, version)
