"""Conversion of record batches down to message format 0 or 1, for consumers that know no later one.

The conversion up to magic 2, when an old client produces, is part of `storage/log/append_validation.py`.
"""

from collections.abc import Callable, Iterable

from ..errors import InvalidRecordError, UnsupportedCompressionTypeError
from .batch import RecordBatch, TimestampType, iter_batches
from .compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Codec
from .crc import Buffer
from .message_set import build_message_set
from .record import read_records
from .walk import Record

RecordReader = Callable[[RecordBatch, int], Iterable[Record]]
"""`read_records`, or what does the same within bounds of its own."""

_RECORD_OBJECT_BYTES = 250
"""What a small record takes as an object, about."""

OVERFLOW_MESSAGE = b"\xff" * 8 + b"\0\0\0\x3d"
"""Head of a message that never comes: what Kafka answers when down-conversion left nothing of what was read, so that
the consumer complains of its fetch size rather than ask for the same bytes for ever."""


def down_convert(
    buffer: Buffer,
    to_magic: int,
    first_offset: int,
    max_output_bytes: int | None = None,
    max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
    records_of: RecordReader = read_records,
) -> bytes:
    """The batches read for a fetch from `first_offset` on, as a consumer gets them that knows no magic over `to_magic`.

    Batches of that magic or less stay as they are; of others, headers and control batches are dropped, and of an
    uncompressed batch what comes before `first_offset` (a compressed one keeps it: consumers skip it themselves).
    `records_of` reads a batch.

    `max_output_bytes` stops behind the last batch that fits, but not before the first. The result may be empty
    although there was something to read: see OVERFLOW_MESSAGE.

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
    if batch.record_count * _RECORD_OBJECT_BYTES > max_bytes:  # they have to be in memory all at once
        raise InvalidRecordError(f"A batch of {batch.record_count} records has too many for a conversion")
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
