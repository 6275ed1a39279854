"""Decides what compaction keeps of a batch: all of it, some records, an empty header, or nothing. Pure.

Kafka's rules (LogCleaner, MemoryRecords.filterTo):
- A record stays if it is the last of its key in the offset map, or lies behind the map.
- A tombstone stays until its batch's delete horizon, which the first pass over it sets (KIP-534).
- A batch with the last sequence of an active producer stays, if only as a header.
- A rebuilt batch keeps offsets, producer, sequence, leader epoch, codec and timestamp type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ...base.buffer import Buffer
from ...protocol.records.batch import (
    CODEC_MASK,
    DELETE_HORIZON_FLAG,
    HEADER_SIZE_V2,
    NO_TIMESTAMP,
    RecordBatch,
    TimestampType,
    write_header_v2,
)
from ...protocol.records.compaction_walk import Spans, map_key, rebased, spans_to_keep
from ...protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, compress
from ...protocol.records.message_set import build_message_set
from ...protocol.records.record import plain_payload, read_records
from ..producers.producer_state import LastRecord
from .cleaned_transactions import CleanedTransactions
from .offset_map import OffsetMap


class KeptBatch(NamedTuple):
    """The kept part of a batch. In magic 0 and 1 it may be a message set of several messages."""

    data: Buffer
    last_offset: int
    max_timestamp: int
    record_count: int


class BatchCompaction:
    """One pass over a log. `keeps_legacy_tombstones`: the current segment is too young to lose tombstones of magic 0
    and 1, which have no delete horizon."""

    def __init__(
        self,
        offset_map: OffsetMap,
        transactions: CleanedTransactions,
        last_records: Mapping[int, LastRecord],
        now_ms: int,
        delete_retention_ms: int,
    ) -> None:
        self._map = offset_map
        self._transactions = transactions
        self._last_records = last_records
        self._now_ms = now_ms
        self._delete_retention_ms = delete_retention_ms
        self.keeps_legacy_tombstones = True

    def keep(self, batch: RecordBatch) -> KeptBatch | None:
        """The kept part; None to drop the batch. Raises as `read_records` does."""
        if batch.magic < 2:
            return self._keep_messages(batch)
        horizon = batch.delete_horizon_ms
        can_go = has_run_out = False
        if batch.is_control:
            can_go = self._transactions.on_control(batch)
            has_run_out = can_go and horizon is not None and horizon <= self._now_ms
        elif batch.is_transactional:
            can_go = has_run_out = self._transactions.on_data(batch)
        keeps_empty = batch.producer_id >= 0 and self._is_last_of_producer(batch)
        if has_run_out:
            return _emptied(batch) if keeps_empty else None
        if batch.is_control:
            payload = plain_payload(batch, DEFAULT_MAX_DECOMPRESSED_BYTES)
            spans, needs_horizon = [(0, len(payload))] if payload else [], can_go
        else:
            payload = plain_payload(batch, DEFAULT_MAX_DECOMPRESSED_BYTES)
            spans, needs_horizon = spans_to_keep(
                payload,
                batch.record_count,
                batch.base_offset,
                self._map.latest_offset,
                self._map.offsets,
                drop_tombstones=horizon is not None and horizon <= self._now_ms,
            )
        if not spans:
            return _emptied(batch) if keeps_empty else None
        if needs_horizon and horizon is None:
            horizon = self._now_ms + self._delete_retention_ms
        elif batch.is_control or len(spans) == batch.record_count:
            return KeptBatch(batch.view(), batch.last_offset, batch.max_timestamp, batch.record_count)
        return _rebuilt(batch, payload, spans, batch.record_count if batch.is_control else len(spans), horizon)

    def _is_last_of_producer(self, batch: RecordBatch) -> bool:
        """Whether the state of an active producer depends on the batch."""
        last = self._last_records.get(batch.producer_id)
        if last is None:
            return False
        if last.last_data_offset >= 0:
            return batch.last_offset == last.last_data_offset
        return batch.is_control and batch.producer_epoch == last.producer_epoch

    def _keep_messages(self, batch: RecordBatch) -> KeptBatch | None:
        latest, offsets = self._map.latest_offset, self._map.offsets
        kept = []
        count = 0
        for record in read_records(batch):
            count += 1
            if record.offset <= latest:
                if record.key is None or record.offset < offsets.get(map_key(record.key), -1):
                    continue
                if record.value is None and not self.keeps_legacy_tombstones:
                    continue
            kept.append(record)
        if not kept:
            return None
        if len(kept) == count:
            return KeptBatch(batch.view(), batch.last_offset, batch.max_timestamp, count)
        append_time = batch.max_timestamp if batch.timestamp_type is TimestampType.LOG_APPEND_TIME else None
        data = build_message_set(kept, batch.magic, batch.compression, log_append_time_ms=append_time)
        greatest = max(record.timestamp_ms for record in kept) if append_time is None else append_time
        return KeptBatch(data, kept[-1].offset, greatest, len(kept))


def _emptied(batch: RecordBatch) -> KeptBatch:
    """The batch's header, without records."""
    buffer = bytearray(HEADER_SIZE_V2)
    _write_header(
        buffer, batch, batch.attributes & ~(CODEC_MASK | DELETE_HORIZON_FLAG), NO_TIMESTAMP, batch.max_timestamp, 0
    )
    return KeptBatch(buffer, batch.last_offset, batch.max_timestamp, 0)


def _rebuilt(batch: RecordBatch, payload: bytes, spans: Spans, record_count: int, horizon: int | None) -> KeptBatch:
    is_append_time = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    append_time = batch.max_timestamp if is_append_time else None
    records = rebased(payload, spans, batch.base_timestamp, append_time, horizon)
    attributes = batch.attributes if horizon is None else batch.attributes | DELETE_HORIZON_FLAG
    max_timestamp = records.max_timestamp
    buffer = bytearray(HEADER_SIZE_V2)
    buffer += compress(batch.compression, records.payload)
    _write_header(buffer, batch, attributes, records.base_timestamp, max_timestamp, record_count)
    return KeptBatch(buffer, batch.last_offset, max_timestamp, record_count)


def _write_header(
    buffer: bytearray, batch: RecordBatch, attributes: int, base_timestamp: int, max_timestamp: int, record_count: int
) -> None:
    write_header_v2(
        buffer,
        base_offset=batch.base_offset,
        attributes=attributes,
        last_offset_delta=batch.last_offset_delta,
        base_timestamp=base_timestamp,
        max_timestamp=max_timestamp,
        producer_id=batch.producer_id,
        producer_epoch=batch.producer_epoch,
        base_sequence=batch.base_sequence,
        record_count=record_count,
        partition_leader_epoch=batch.partition_leader_epoch,
    )
