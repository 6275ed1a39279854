"""The text format of ``pybroker log dump``: one line for each batch, record or entry.

`TextFormat` prints exactly what Kafka's DumpLogSegments 3.9 prints, because scripts parse those lines. Files that
Kafka's tool does not read are printed in the same style. `json_lines.py` is the other format.
"""

from __future__ import annotations

import codecs
from typing import Protocol

from ....base.topic_partition import TopicPartition
from ....protocol.errors import InvalidRecordError
from ....protocol.records.batch import RecordBatch, TimestampType
from ....protocol.records.compression import CODEC_OF_ID
from ....protocol.records.control import ControlType, control_type, decode_marker
from ....protocol.records.record import Record
from ....storage.leader_epochs import EpochEntry
from ....storage.producers.producer_state import NO_OFFSET, ProducerEntry
from ....storage.segment.offset_index import OffsetPosition
from ....storage.segment.segment_reader import StoredBatch, Tail
from ....storage.segment.time_index import TimestampOffset
from ....storage.segment.transaction_index import AbortedTransaction
from .internal_records import DecodedRecord

__all__ = ["DumpFormat", "TextFormat", "codec_name", "control_facts", "timestamp_type_name"]

_TIMESTAMP_TYPES = {
    TimestampType.NO_TIMESTAMP: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}

Checksum = tuple[int, int]
"""The stored and the computed checksum of a record in magic 0 or 1."""


class DumpFormat(Protocol):
    """A format. Each method returns a line, or None when the format has none."""

    def file_begin(self, path: str) -> str | None: ...
    def log_begin(self, base_offset: int) -> str | None: ...
    def batch(self, stored: StoredBatch) -> str | None: ...
    def record(
        self, batch: RecordBatch, record: Record, checksum: Checksum | None, decoded: DecodedRecord | None
    ) -> str | None: ...
    def tail(self, name: str, tail: Tail) -> str | None: ...
    def empty_index(self, path: str) -> str | None: ...
    def offset_entry(self, entry: OffsetPosition) -> str | None: ...
    def time_entry(self, entry: TimestampOffset) -> str | None: ...
    def aborted(self, transaction: AbortedTransaction) -> str | None: ...
    def producer(self, entry: ProducerEntry) -> str | None: ...
    def epoch(self, entry: EpochEntry) -> str | None: ...
    def checkpoint(self, topic_partition: TopicPartition, offset: int) -> str | None: ...
    def property(self, name: str, value: str) -> str | None: ...


class TextFormat:
    """The format of Kafka's tool.

    Args:
        with_metadata: print the offset, time, sizes and so on of each record.
        with_data: print the key and value of each record.
    """

    def __init__(self, *, with_metadata: bool = True, with_data: bool = True) -> None:
        self._with_metadata = with_metadata
        self._with_data = with_data

    def file_begin(self, path: str) -> str:
        return f"Dumping {path}"

    def log_begin(self, base_offset: int) -> str:
        return f"Log starting offset: {base_offset}"

    def batch(self, stored: StoredBatch) -> str:
        position, batch = stored
        if batch.magic >= 2:
            front = (
                f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.record_count} "
                f"baseSequence: {batch.base_sequence} lastSequence: {batch.last_sequence} "
                f"producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch} "
                f"partitionLeaderEpoch: {batch.partition_leader_epoch} "
                f"isTransactional: {_bool(batch.is_transactional)} isControl: {_bool(batch.is_control)} "
                f"deleteHorizonMs: {_optional(batch.delete_horizon_ms)}"
            )
        else:
            front = f"offset: {batch.last_offset}"
        return (
            f"{front} position: {position} {timestamp_type_name(batch)}: {batch.max_timestamp} "
            f"size: {batch.size_bytes} magic: {batch.magic} compresscodec: {codec_name(batch)} "
            f"crc: {batch.crc} isvalid: {_bool(batch.is_valid_crc())}"
        )

    def record(
        self, batch: RecordBatch, record: Record, checksum: Checksum | None, decoded: DecodedRecord | None
    ) -> str:
        line, mark = "", "| "
        if self._with_metadata:
            line, mark = mark + self._metadata(batch, record, checksum), " "
        if self._with_data and not batch.is_control:
            key, value = _shown(record, decoded)
            if key is not None:
                line += f"{mark}key: {key}"
            if value is not None:  # without metadata and key, Kafka leaves out the mark
                line += f" payload: {value}"
        return line

    def _metadata(self, batch: RecordBatch, record: Record, checksum: Checksum | None) -> str:
        text = (
            f"offset: {record.offset} {timestamp_type_name(batch)}: {record.timestamp_ms} "
            f"keySize: {_size(record.key)} valueSize: {_size(record.value)}"
        )
        if batch.magic >= 2:
            text += f" sequence: {record.sequence} headerKeys: [{','.join(name for name, _ in record.headers)}]"
        if checksum is not None:
            stored, computed = checksum
            text += f" isValid: {_bool(stored == computed)} crc: {stored}}}"  # Kafka prints this brace
        if batch.is_control:
            text += "".join(f" {name}: {value}" for name, value in control_facts(record).items())
        return text

    def tail(self, name: str, tail: Tail) -> str:
        return f"Found {tail.size_bytes} invalid bytes at the end of {name}"

    def empty_index(self, path: str) -> str:
        return f"{path} is empty."

    def offset_entry(self, entry: OffsetPosition) -> str:
        return f"offset: {entry.offset} position: {entry.position}"

    def time_entry(self, entry: TimestampOffset) -> str:
        return f"timestamp: {entry.timestamp} offset: {entry.offset}"

    def aborted(self, transaction: AbortedTransaction) -> str:
        return (
            f"version: 0 producerId: {transaction.producer_id} firstOffset: {transaction.first_offset} "
            f"lastOffset: {transaction.last_offset} lastStableOffset: {transaction.last_stable_offset}"
        )

    def producer(self, entry: ProducerEntry) -> str:
        first = entry.current_txn_first_offset
        line = (
            f"producerId: {entry.producer_id} producerEpoch: {entry.producer_epoch} "
            f"coordinatorEpoch: {entry.coordinator_epoch} "
            f"currentTxnFirstOffset: {_optional(None if first == NO_OFFSET else first)} "
            f"lastTimestamp: {entry.last_timestamp} "
        )
        for batch in list(entry.batches)[:1]:
            line += (
                f"firstSequence: {batch.first_sequence} lastSequence: {batch.last_sequence} "
                f"lastOffset: {batch.last_offset} offsetDelta: {batch.offset_delta} timestamp: {batch.timestamp}"
            )
        return line

    def epoch(self, entry: EpochEntry) -> str:
        return f"epoch: {entry.epoch} startOffset: {entry.start_offset}"

    def checkpoint(self, topic_partition: TopicPartition, offset: int) -> str:
        return f"topic: {topic_partition.topic} partition: {topic_partition.partition} offset: {offset}"

    def property(self, name: str, value: str) -> str:
        return f"{name}: {value}"


def timestamp_type_name(batch: RecordBatch) -> str:
    """Kafka's name of the timestamp type."""
    return _TIMESTAMP_TYPES[batch.timestamp_type]


def codec_name(batch: RecordBatch) -> str:
    """Kafka's name of the codec, or its number if Kafka does not know it."""
    codec = CODEC_OF_ID[batch.attributes & 7]
    return f"unknown({batch.attributes & 7})" if codec is None else codec.name.lower()


def control_facts(record: Record) -> dict[str, str | int]:
    """The fields of a control record, by Kafka's names. Raises InvalidRecordError."""
    marker = decode_marker(record)
    if marker is not None:
        return {
            "endTxnMarker": "COMMIT" if marker.is_commit else "ABORT",
            "coordinatorEpoch": marker.coordinator_epoch,
        }
    kind = control_type(record.key)
    if record.key is None:
        raise InvalidRecordError("Control record without a key")
    number = int.from_bytes(record.key[2:4], "big", signed=True)
    return {"controlType": f"{ControlType(kind).name}({number})"}


def _shown(record: Record, decoded: DecodedRecord | None) -> tuple[str | None, str | None]:
    if decoded is not None:
        return decoded.key_text, decoded.value_text
    return _decoded_text(record.key), _decoded_text(record.value)


def _decoded_text(data: bytes | None) -> str | None:
    return None if data is None else data.decode("utf-8", _JAVAS_REPLACEMENT)


def _replace_as_java_does(error: UnicodeError) -> tuple[str, int]:
    """One U+FFFD for each sequence that is not UTF-8; Java counts the bytes of a surrogate as one, Python each byte."""
    assert isinstance(error, UnicodeDecodeError)
    first, *following = error.object[error.start : error.start + 3]
    if first == 0xED and following and 0xA0 <= following[0] <= 0xBF:
        return "\ufffd", error.start + (3 if len(following) > 1 and 0x80 <= following[1] <= 0xBF else 2)
    return "\ufffd", error.end


_JAVAS_REPLACEMENT = "pybroker-java-replace"
codecs.register_error(_JAVAS_REPLACEMENT, _replace_as_java_does)


def _size(data: bytes | None) -> int:
    return -1 if data is None else len(data)


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _optional(value: int | None) -> str:
    return "OptionalLong.empty" if value is None else f"OptionalLong[{value}]"
