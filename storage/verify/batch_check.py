"""The check of a single batch: do its bytes agree with its header?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ...protocol.errors import KafkaError
from ...protocol.records.batch import NO_TIMESTAMP, RecordBatch, TimestampType
from ...protocol.records.compression import CODEC_OF_ID
from ...protocol.records.message_set import message_checksums
from ...protocol.records.record import Record, read_records


class BatchFaults(Protocol):
    """`batch_faults`, or a function that finds the same faults in another way."""

    def __call__(self, batch: RecordBatch, *, with_records: bool) -> Iterator[str]:
        """Yield the faults of a batch on its own."""


def batch_faults(batch: RecordBatch, *, with_records: bool) -> Iterator[str]:
    """Yield the faults of a batch on its own. After a wrong checksum nothing else is checked."""
    computed = batch.compute_crc()
    if computed != batch.crc:
        yield f"the batch of offset {batch.base_offset} has the checksum {batch.crc}, its bytes have {computed}"
        return
    if CODEC_OF_ID[batch.attributes & 7] is None:
        yield f"the batch of offset {batch.base_offset} has the unknown codec {batch.attributes & 7}"
        return
    if batch.magic >= 2:
        yield from _header_faults(batch)
    if with_records:
        yield from _record_faults(batch)


def _header_faults(batch: RecordBatch) -> Iterator[str]:
    """Yield header faults. A compacted batch may have fewer records than offsets, down to none."""
    if batch.last_offset_delta < 0 or not 0 <= batch.record_count <= batch.last_offset_delta + 1:
        yield (
            f"the batch of offset {batch.base_offset} says it has {batch.record_count} records"
            f" in {batch.last_offset_delta + 1} offsets"
        )
    if batch.producer_id >= 0 and batch.base_sequence < 0 and not batch.is_control:
        yield f"the batch of offset {batch.base_offset} of producer {batch.producer_id} has no sequence"


def _record_faults(batch: RecordBatch) -> Iterator[str]:
    greatest, last = None, None
    try:
        for record in read_records(batch):
            if last is not None and record.offset <= last.offset:
                yield f"record {record.offset} follows record {last.offset} in the same batch"
            greatest = record.timestamp_ms if greatest is None else max(greatest, record.timestamp_ms)
            last = record
        if batch.magic < 2:
            yield from _message_faults(batch, last)
    except KafkaError as error:
        yield f"the records of the batch of offset {batch.base_offset} cannot be read: {error}"
        return
    own_times = batch.timestamp_type is TimestampType.CREATE_TIME
    # Kafka starts from -1 when it computes the greatest timestamp; a batch that it stores as sent has the client's.
    if own_times and greatest is not None and batch.max_timestamp not in (greatest, max(greatest, NO_TIMESTAMP)):
        yield (
            f"the batch of offset {batch.base_offset} says its greatest timestamp is {batch.max_timestamp},"
            f" its records have {greatest}"
        )


def _message_faults(batch: RecordBatch, last: Record | None) -> Iterator[str]:
    if last is None or last.offset != batch.last_offset:
        yield f"the message of offset {batch.last_offset} contains messages, but none with that offset last"
    for stored, computed in message_checksums(batch):
        if stored != computed:
            yield f"a message inside that of offset {batch.last_offset} has checksum {stored}, its bytes {computed}"
