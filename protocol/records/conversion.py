"""Between message formats: up to magic 2 when an old client produces, down to 0 or 1 when an old one fetches."""

from collections.abc import Callable, Iterable

from ..errors import InvalidRecordError, InvalidTimestampError, UnsupportedCompressionTypeError
from .batch import CODEC_MASK, NO_TIMESTAMP, RecordBatch, TimestampType, check_header, iter_batches
from .builder import BatchBuilder
from .compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Codec
from .crc import Buffer
from .message_set import build_message_set, check_inner_crcs
from .record import read_records
from .walk import Record

RecordRule = Callable[[RecordBatch, int, Record], None]
"""Looks at a record (its batch, its number in it from 0, itself) and raises what is wrong with it."""

RecordReader = Callable[[RecordBatch, int], Iterable[Record]]
"""`read_records`, or what does the same within bounds of its own."""

_RECORD_OBJECT_BYTES = 250
"""What a small record takes as an object, about."""

OVERFLOW_MESSAGE = b"\xff" * 8 + b"\0\0\0\x3d"
"""Head of a message that never comes: what Kafka answers when down-conversion left nothing of what was read, so that
the consumer complains of its fetch size rather than ask for the same bytes for ever."""


def source_codec(buffer: Buffer) -> Codec:
    """The codec a produced set came with (`compression.type=producer` keeps it): the last one that is not none."""
    codec = Codec.NONE
    for batch in iter_batches(buffer):
        if batch.attributes & CODEC_MASK:
            codec = batch.compression
    return codec


def up_convert(
    buffer: Buffer,
    *,
    base_offset: int,
    codec: Codec,
    level: int | None = None,
    partition_leader_epoch: int = -1,
    log_append_time_ms: int | None = None,
    rule: RecordRule | None = None,
    max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES,
) -> bytes:
    """A produced record set of any magic as one batch of magic 2, offsets assigned from `base_offset` on.

    A torn tail is left out. Also what changes a batch's codec: then producer, sequence and flags stay.
    `log_append_time_ms` stands for a topic with LogAppendTime, None for CreateTime. Time bounds and null keys are the
    caller's, by `rule` (Kafka's LogValidator).

    Raises CorruptRecordError, InvalidRecordError, InvalidTimestampError, UnsupportedCompressionTypeError, and what
    `rule` raises.
    """
    first: RecordBatch | None = None
    builder: BatchBuilder | None = None
    offset = base_offset
    for header in iter_batches(buffer):
        batch = check_header(buffer, header.position, header.end)
        if first is None or builder is None:
            first = batch
            builder = BatchBuilder(
                base_offset=base_offset,
                codec=codec,
                level=level,
                log_append_time_ms=log_append_time_ms,
                producer_id=batch.producer_id,
                producer_epoch=batch.producer_epoch,
                base_sequence=batch.base_sequence,
                is_transactional=batch.is_transactional,
                is_control=batch.is_control,
                partition_leader_epoch=partition_leader_epoch,
            )
        else:
            _check_fits_first(first, batch)
        if batch.magic < 2 and batch.is_compressed:
            check_inner_crcs(batch, max_bytes)
        for index, record in enumerate(read_records(batch, max_bytes)):
            if rule is not None:
                rule(batch, index, record)
            if record.timestamp_ms < NO_TIMESTAMP:
                raise InvalidTimestampError(f"Invalid negative timestamp {record.timestamp_ms}")
            try:
                builder.append(offset, record.timestamp_ms, record.key, record.value, record.headers)
            except ValueError as error:
                raise InvalidTimestampError(str(error)) from None
            offset += 1
    if builder is None:
        raise InvalidRecordError("Record set has no batches at all")
    return builder.build()


def _check_fits_first(first: RecordBatch, batch: RecordBatch) -> None:
    """Only messages of magic 0 and 1 come several at once, and only as long as none is compressed."""
    if batch.magic != first.magic:
        raise InvalidRecordError(f"Batch magic {batch.magic} is not the same as the first batch's, {first.magic}")
    if first.magic >= 2 or first.is_compressed or batch.is_compressed:
        raise InvalidRecordError("Record set with a compressed message or a batch of magic 2 has more than one batch")


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
