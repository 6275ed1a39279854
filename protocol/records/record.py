"""The public interface to records: `Record`, `read_records` for any magic, `build_batch` for magic 2."""

from collections.abc import Iterator

from .batch import RecordBatch, TimestampType
from .builder import BatchBuilder, BatchFields, build_batch
from .compression import DEFAULT_MAX_DECOMPRESSED_BYTES, decompress
from .message_set import read_messages
from .walk import Headers, Record, walk_records

__all__ = ["BatchBuilder", "BatchFields", "Headers", "Record", "build_batch", "read_records"]


def read_records(batch: RecordBatch, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES) -> Iterator[Record]:
    """Yield the records of a batch with absolute offsets and timestamps. The checksum is not checked.

    Raises InvalidRecordError or CorruptRecordError when their structure is broken (when the walk gets there) or they
    decompress to more than `max_bytes`, and UnsupportedCompressionTypeError.
    """
    if batch.magic < 2:
        yield from read_messages(batch, max_bytes)
        return
    append_time = batch.max_timestamp if batch.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    yield from walk_records(
        plain_payload(batch, max_bytes),
        batch.record_count,
        batch.base_offset,
        batch.last_offset_delta,
        batch.base_timestamp,
        batch.base_sequence,
        append_time,
    )


def plain_payload(batch: RecordBatch, max_bytes: int) -> bytes:
    """Return the decompressed bytes of the records of a magic 2 batch."""
    # The cleaner's empty batches keep their codec bits but have no payload to decompress.
    if batch.record_count == 0 and batch.size_bytes == 61:
        return b""
    return bytes(decompress(batch.compression, batch.payload(), max_bytes))
