"""Conversion of record batches down to message format 0 or 1, for consumers that know no later one.

The conversion up to magic 2, when an old client produces, is part of `storage/log/append_validation.py`.
"""

from collections.abc import Callable, Iterable

from ...base.buffer import Buffer
from ..errors import InvalidRecordError, UnsupportedCompressionTypeError
from .batch import RecordBatch, TimestampType, iter_batches
from .compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Codec
from .message_set import build_message_set
from .record import read_records
from .walk import Record

RecordReader = Callable[[RecordBatch, int], Iterable[Record]]
"""`read_records`, or a function that does the same within its own bounds."""

_RECORD_OBJECT_BYTES = 250
"""Approximate memory of a small record as an object."""

OVERFLOW_MESSAGE = b"\xff" * 8 + b"\0\0\0\x3d"
"""Start of a message without an end. Kafka sends it when down-conversion leaves nothing of the batches read, so that
the consumer reports too small a fetch size instead of requesting the same bytes forever.
"""


def down_convert(
    buffer: Buffer,
    to_magic: int,
    first_offset: int,
    max_output_bytes: int | None = None,
    max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    records_of: RecordReader = read_records,
) -> bytes:
    """Convert fetched batches for a consumer that knows no magic above `to_magic`.

    Batches of that magic or less stay unchanged. From others, record headers and control batches are dropped, and from
    uncompressed ones the records before `first_offset` (consumers skip those of a compressed batch). `records_of` reads
    a batch. With `max_output_bytes` the result ends with the last batch that fits, but has at least the first. It may
    be empty although batches were read: see OVERFLOW_MESSAGE.

    Raises UnsupportedCompressionTypeError when a zstd batch is the first to convert; a later one ends the result before
    it, so that the consumer meets the error on its next fetch (Kafka's LazyDownConversionRecordsSend). Raises
    InvalidRecordError or CorruptRecordError for a broken batch.
    """
    pieces: list[bytes | memoryview] = []
    size = 0
    for batch in iter_batches(buffer):
        if batch.is_control and to_magic < 2:
            continue
        if to_magic < 2 and batch.compression is Codec.ZSTD:
            if pieces:
                break
            raise UnsupportedCompressionTypeError("Down-conversion of zstandard-compressed batches is not supported")
        piece: bytes | memoryview = batch.view()
        if batch.magic > to_magic:
            piece = _down_convert_batch(batch, to_magic, first_offset, max_bytes, records_of)
        if pieces and max_output_bytes is not None and size + len(piece) > max_output_bytes:
            break
        if piece:
            pieces.append(piece)
            size += len(piece)
    return b"".join(pieces)


def _down_convert_batch(
    batch: RecordBatch, to_magic: int, first_offset: int, max_bytes: int, records_of: RecordReader
) -> bytes:
    if batch.record_count * _RECORD_OBJECT_BYTES > max_bytes:  # all records must be in memory at once
        raise InvalidRecordError(f"A batch of {batch.record_count} records is too large for a conversion")
    records = list(records_of(batch, max_bytes))
    if not batch.is_compressed:
        records = [record for record in records if record.offset >= first_offset]
    is_log_append_time = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    return build_message_set(
        records,
        to_magic,
        batch.compression,
        log_append_time_ms=batch.max_timestamp if is_log_append_time else None,
    )
