"""Records as JSON: bytes as text where they are UTF-8, else as base64, cut where they are long."""

from __future__ import annotations

import base64
import hashlib
from typing import Any

from ...base.frozen import frozen
from ...client.internal_records import decode_internal
from ...protocol.errors import KafkaError
from ...protocol.records.batch import RecordBatch, TimestampType
from ...protocol.records.control import control_type
from ...protocol.records.record import Record

MAX_HEADERS = 32


@frozen
class ShownBytes:
    """How many bytes of a key or header value, and of a value, are shown."""

    key: int
    value: int


IN_LISTS = ShownBytes(256, 1_024)
IN_DETAIL = ShownBytes(65_536, 65_536)


def record_json(
    topic: str, partition: int, batch: RecordBatch, record: Record, value: bytes | None, shown: ShownBytes
) -> dict[str, Any]:
    """Returns a record. `value` is what may be shown of its value."""
    is_append = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    size = len(record.key or b"") + len(record.value or b"")
    size += sum(len(name.encode("utf-8", "surrogateescape")) + len(each or b"") for name, each in record.headers)
    return {
        "topic": topic,
        "partition": partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp_ms if record.timestamp_ms >= 0 else None,
        "timestamp_type": "append" if is_append else "create",
        "key": bytes_json(record.key, shown.key),
        "value": bytes_json(value, shown.value),
        "headers": [
            {"name": _name(name), "value": bytes_json(each, shown.key)} for name, each in record.headers[:MAX_HEADERS]
        ],
        "header_count": len(record.headers),
        "size": size,
        "kind": "control" if batch.is_control else "record",
        "decoded": _control(record) if batch.is_control else decode_internal(topic, record.key, record.value),
    }


def bytes_json(data: bytes | None, most: int) -> dict[str, Any] | None:
    """Returns `{"size", "text", "base64", "cut"}`. A character that the cut would break is left out."""
    if data is None:
        return None
    part = data[:most]
    text = _text(part) if len(part) == len(data) else _text_of_cut(part)
    return {
        "size": len(data),
        "text": text,
        "base64": None if text is not None else base64.b64encode(part).decode(),
        "cut": len(part) < len(data),
    }


def sha256(data: bytes | None) -> str | None:
    """Returns the hash in hex digits; None for null."""
    return None if data is None else hashlib.sha256(data).hexdigest()


def batch_json(batch: RecordBatch) -> dict[str, Any]:
    """Returns the header of a batch."""
    return {
        "base_offset": batch.base_offset,
        "record_count": batch.record_count,
        "codec": batch.compression.name.lower(),
        "producer_id": batch.producer_id,
        "producer_epoch": batch.producer_epoch,
        "base_sequence": batch.base_sequence,
        "is_transactional": batch.is_transactional,
        "leader_epoch": batch.partition_leader_epoch,
        "size": batch.size_bytes,
    }


def _control(record: Record) -> dict[str, Any] | None:
    try:
        return {"type": control_type(record.key).name.lower()}
    except KafkaError:
        return None


def _text(part: bytes) -> str | None:
    try:
        return part.decode()
    except UnicodeDecodeError:
        return None


def _text_of_cut(part: bytes) -> str | None:
    for lost in range(4):
        text = _text(part[: len(part) - lost])
        if text is not None:
            return text
    return None


def _name(name: str) -> str:
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
