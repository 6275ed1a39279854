"""The JSON format of ``pybroker log dump``: one object a line, with its `file` and its `kind`."""

from __future__ import annotations

import base64
import json
from typing import Any

from ....base.topic_partition import TopicPartition
from ....protocol.records.batch import RecordBatch
from ....protocol.records.record import Record
from ....storage.leader_epochs import EpochEntry
from ....storage.producers.producer_state import NO_OFFSET, ProducerEntry
from ....storage.segment.offset_index import OffsetPosition
from ....storage.segment.segment_reader import StoredBatch, Tail
from ....storage.segment.time_index import TimestampOffset
from ....storage.segment.transaction_index import AbortedTransaction
from .dump_format import Checksum, codec_name, control_facts, timestamp_type_name
from .internal_records import DecodedRecord

__all__ = ["JsonLines"]


class JsonLines:
    """Bytes that are not UTF-8 are written as base64 under a name that ends in `Base64`.

    Args:
        with_data: write the key, value and headers of each record.
    """

    def __init__(self, *, with_data: bool = True) -> None:
        self._with_data = with_data
        self._path = ""

    def file_begin(self, path: str) -> None:
        self._path = path

    def log_begin(self, base_offset: int) -> None:
        return None

    def batch(self, stored: StoredBatch) -> str:
        position, batch = stored
        facts: dict[str, Any] = {"lastOffset": batch.last_offset}
        if batch.magic >= 2:
            facts = {
                "baseOffset": batch.base_offset,
                "lastOffset": batch.last_offset,
                "count": batch.record_count,
                "baseSequence": batch.base_sequence,
                "lastSequence": batch.last_sequence,
                "producerId": batch.producer_id,
                "producerEpoch": batch.producer_epoch,
                "partitionLeaderEpoch": batch.partition_leader_epoch,
                "isTransactional": batch.is_transactional,
                "isControl": batch.is_control,
                "deleteHorizonMs": batch.delete_horizon_ms,
            }
        return self._line(
            "batch",
            **facts,
            position=position,
            timestampType=timestamp_type_name(batch),
            maxTimestamp=batch.max_timestamp,
            size=batch.size_bytes,
            magic=batch.magic,
            compression=codec_name(batch),
            crc=batch.crc,
            isValid=batch.is_valid_crc(),
        )

    def record(
        self, batch: RecordBatch, record: Record, checksum: Checksum | None, decoded: DecodedRecord | None
    ) -> str:
        facts: dict[str, Any] = {
            "offset": record.offset,
            "timestampType": timestamp_type_name(batch),
            "timestamp": record.timestamp_ms,
            "keySize": -1 if record.key is None else len(record.key),
            "valueSize": -1 if record.value is None else len(record.value),
        }
        if batch.magic >= 2:
            facts["sequence"] = record.sequence
        if checksum is not None:
            facts |= {"crc": checksum[0], "isValid": checksum[0] == checksum[1]}
        if batch.is_control:
            facts |= control_facts(record)
        elif self._with_data:
            facts |= _data(record, decoded)
        return self._line("record", **facts)

    def tail(self, name: str, tail: Tail) -> str:
        return self._line("invalidBytes", position=tail.position, size=tail.size_bytes, reason=tail.reason)

    def empty_index(self, path: str) -> None:
        return None

    def offset_entry(self, entry: OffsetPosition) -> str:
        return self._line("offsetIndexEntry", offset=entry.offset, position=entry.position)

    def time_entry(self, entry: TimestampOffset) -> str:
        return self._line("timeIndexEntry", timestamp=entry.timestamp, offset=entry.offset)

    def aborted(self, transaction: AbortedTransaction) -> str:
        return self._line(
            "abortedTransaction",
            producerId=transaction.producer_id,
            firstOffset=transaction.first_offset,
            lastOffset=transaction.last_offset,
            lastStableOffset=transaction.last_stable_offset,
        )

    def producer(self, entry: ProducerEntry) -> str:
        first = entry.current_txn_first_offset
        facts: dict[str, Any] = {
            "producerId": entry.producer_id,
            "producerEpoch": entry.producer_epoch,
            "coordinatorEpoch": entry.coordinator_epoch,
            "currentTxnFirstOffset": None if first == NO_OFFSET else first,
            "lastTimestamp": entry.last_timestamp,
        }
        for batch in list(entry.batches)[:1]:
            facts |= {
                "firstSequence": batch.first_sequence,
                "lastSequence": batch.last_sequence,
                "lastOffset": batch.last_offset,
                "offsetDelta": batch.offset_delta,
            }
        return self._line("producer", **facts)

    def epoch(self, entry: EpochEntry) -> str:
        return self._line("leaderEpoch", epoch=entry.epoch, startOffset=entry.start_offset)

    def checkpoint(self, topic_partition: TopicPartition, offset: int) -> str:
        return self._line("checkpoint", topic=topic_partition.topic, partition=topic_partition.partition, offset=offset)

    def property(self, name: str, value: str) -> str:
        return self._line("property", name=name, value=value)

    def _line(self, kind: str, **facts: Any) -> str:
        return json.dumps({"file": self._path, "kind": kind, **facts}, separators=(",", ":"), ensure_ascii=False)


def _data(record: Record, decoded: DecodedRecord | None) -> dict[str, Any]:
    if decoded is not None:
        if decoded.key is None:
            return {"error": decoded.key_text, **_bytes("key", record.key), **_bytes("value", record.value)}
        return {"key": decoded.key, "value": decoded.value}
    facts: dict[str, Any] = {**_bytes("key", record.key), **_bytes("value", record.value)}
    if record.headers:
        facts["headers"] = [
            {"name": name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"), **_bytes("value", value)}
            for name, value in record.headers
        ]
    return facts


def _bytes(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}Base64": base64.b64encode(data).decode()}
