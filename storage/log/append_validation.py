"""The checks and changes a leader makes on a produced record set before it is written (Kafka's LogValidator).

How: offset and leader epoch are patched into the batch header in place. A magic 2 batch that is stored unchanged is
neither decompressed nor walked; only its header, its checksum and its first uncompressed records are checked. All
records are walked when that does not tell enough: keys in a compacted topic, timestamps near a bound, another codec,
`pybroker.record.validation=full`, and record headers in the compiled build.
Messages of magic 0 and 1 become one magic 2 batch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from ...base.buffer import Buffer
from ...base.topic_partition import TopicPartition
from ...protocol.errors import (
    CorruptRecordError,
    InvalidRecordError,
    InvalidTimestampError,
    RecordTooLargeError,
    UnsupportedForMessageFormatError,
)
from ...protocol.records.batch import (
    CODEC_MASK,
    CONTROL_FLAG,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_FLAG,
    RecordBatch,
    TimestampType,
    iter_batches,
    read_header,
    set_max_timestamp,
)
from ...protocol.records.builder import build_batch
from ...protocol.records.compression import Codec, codec_of
from ...protocol.records.summary_walk import IS_COMPILED, may_have_headers, summarize_records
from ...protocol.records.walk import Record, walk_records
from ..errors import (
    InvalidChecksumError,
    InvalidMagicError,
    InvalidSequenceError,
)
from ..log_config import LogConfig
from ..producers.prepared_append import PreparedAppend, PreparedBatch, producer_update
from ..producers.producer_state import AppendOrigin
from ..workers.big_batches import run_big_batch
from ..workers.unpacking import (
    BigBatchError,
    check_count,
    check_wrapped,
    unpack_payload,
    unpack_records,
    yield_interpreter,
)
from .record_errors import RecordErrors

_UNBOUNDED = (1 << 63) - 1
_MIN_RECORD_BYTES = 7  # length, attributes, two deltas, no key, no value, no headers
_MIN_MESSAGE_BYTES = 34  # of magic 1: offset, size, crc, magic, attributes, timestamp, no key, no value; 0 has less
_TARGET_CODECS = {"uncompressed": Codec.NONE, **{codec.name.lower(): codec for codec in Codec if codec}}
_LOOKED_AT = 32
"""Records with headers that are checked in an uncompressed batch, at most 50 microseconds of work."""


def prepare_leader_append(
    records: Buffer,
    topic_partition: TopicPartition,
    config: LogConfig,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: AppendOrigin,
) -> PreparedAppend | None:
    """Check `records` and give them offsets from `next_offset` on. Return None when they hold no whole batch.

    Patches `records` in place; a read-only buffer is copied first. Raises CorruptRecordError,
    InvalidRecordError (InvalidRecordsError with the records at fault), InvalidTimestampsError, RecordTooLargeError,
    UnsupportedCompressionTypeError, UnsupportedForMessageFormatError, and RequestTimedOutError for a big batch.
    """
    try:
        return _prepare(records, topic_partition, config, next_offset, leader_epoch, now_ms, origin)
    except BigBatchError:  # raised before anything is patched
        plain = bytes(records)
        return run_big_batch(
            _prepare_in_child, plain, topic_partition, config, next_offset, leader_epoch, now_ms, origin
        )


def _prepare_in_child(records: bytes, *arguments: Any) -> PreparedAppend | None:
    """`_prepare` in the big-batch process. The result can be pickled."""
    prepared = _prepare(bytearray(records), *arguments)
    if prepared is not None:
        prepared.data = bytearray(prepared.data)
    return prepared


def _prepare(
    records: Buffer,
    topic_partition: TopicPartition,
    config: LogConfig,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
    origin: AppendOrigin,
) -> PreparedAppend | None:
    size = len(records)
    batch = read_header(records, 0, size)
    if batch is None:
        return None
    end = batch.end
    if end > size:
        return None
    if batch.magic < 2:
        return _Conversion(topic_partition, config, next_offset, leader_epoch, now_ms).of_messages(records)
    _check_batch(batch, topic_partition, config, origin)
    if end != size:
        following = read_header(records, end, size)
        if following is not None and following.end <= size:
            raise InvalidRecordError(f"{topic_partition}: more than one record batch in an append")
        records = memoryview(records)[:end]  # an incomplete last batch is dropped, as in Kafka
    _check_client_header(batch, topic_partition, config, origin)
    source = codec_of(batch.attributes)
    target = _target_codec(config, source)
    if source is Codec.NONE and batch.attributes & CONTROL_FLAG:
        target = source
    if source is not target:
        return _Conversion(topic_partition, config, next_offset, leader_epoch, now_ms).of_batch(batch, target)
    max_timestamp = batch.max_timestamp
    if origin is AppendOrigin.CLIENT:  # the broker has built the other ones itself
        max_timestamp = _check_unchanged(batch, topic_partition, config, now_ms)
    return _prepare_in_place(records, batch, max_timestamp, config, next_offset, leader_epoch, now_ms)


def is_stored_unchanged(records: Buffer, config: LogConfig, now_ms: int) -> bool:
    """Whether `prepare_leader_append` checks only the header, the checksum and a few records (or refuses them), as far
    as the header tells.

    A compiled build walks uncompressed records that have headers, too, but takes no long time for it.
    """
    size = len(records)
    batch = read_header(records, 0, size)
    if batch is None or batch.end > size or batch.magic < 2:
        return False
    source = codec_of(batch.attributes)
    return _target_codec(config, source) is source and not _header_requires_walk(batch, config, now_ms)


def _prepare_in_place(
    records: Buffer,
    batch: RecordBatch,
    max_timestamp: int,
    config: LogConfig,
    next_offset: int,
    leader_epoch: int,
    now_ms: int,
) -> PreparedAppend:
    """`max_timestamp`: of the records, which the header may have wrong."""
    if isinstance(records, bytes) or (isinstance(records, memoryview) and records.readonly):
        records = bytearray(records)
    append_time = NO_TIMESTAMP
    if config.log_append_time:
        max_timestamp = append_time = now_ms
        set_max_timestamp(records, 0, TimestampType.LOG_APPEND_TIME, now_ms)
    elif max_timestamp != batch.max_timestamp or batch.attributes & TIMESTAMP_TYPE_FLAG:
        set_max_timestamp(records, 0, TimestampType.CREATE_TIME, max_timestamp)
    batch.max_timestamp = max_timestamp
    batch.place(records, next_offset, leader_epoch)
    last_offset = next_offset + batch.last_offset_delta
    size = batch.batch_length + 12
    update = producer_update(batch, next_offset) if batch.producer_id >= 0 else None
    return PreparedAppend(
        records,
        next_offset,
        last_offset,
        max_timestamp,
        last_offset,
        (PreparedBatch(size, next_offset, last_offset, 2, leader_epoch),),
        () if update is None else (update,),
        append_time,
    )


# --- checks -----------------------------------------------------------------------------------------------------


def _check_batch(batch: RecordBatch, topic_partition: TopicPartition, config: LogConfig, origin: AppendOrigin) -> None:
    """Check what applies to a batch of any magic, in Kafka's order."""
    if batch.base_offset != 0 and batch.magic >= 2 and origin is AppendOrigin.CLIENT:
        raise InvalidSequenceError(
            f"{topic_partition}: the base offset of a produced batch must be 0, it is {batch.base_offset}"
        )
    if batch.batch_length + 12 > config.max_message_bytes:
        raise RecordTooLargeError(
            f"{topic_partition}: record batch of {batch.size_bytes} bytes, "
            f"max.message.bytes is {config.max_message_bytes}"
        )
    if not batch.is_valid_crc():
        raise InvalidChecksumError(f"{topic_partition}: record batch is corrupt (stored crc {batch.crc})")


def _check_client_header(
    batch: RecordBatch, topic_partition: TopicPartition, config: LogConfig, origin: AppendOrigin
) -> None:
    """Check the header of a magic 2 batch from a client."""
    if origin is not AppendOrigin.CLIENT:
        return
    count = batch.record_count
    if count <= 0 or count != batch.last_offset_delta + 1:
        raise InvalidSequenceError(
            f"{topic_partition}: record batch with {count} records, but last offset delta {batch.last_offset_delta}"
        )
    # Offsets are assigned by the record count, so the count must not exceed what the bytes can hold.
    most_bytes = config.max_decompressed_bytes if batch.attributes & CODEC_MASK else batch.batch_length
    if count * _MIN_RECORD_BYTES > most_bytes:
        raise InvalidRecordError(
            f"{topic_partition}: {count} records cannot fit in a batch of {batch.size_bytes} bytes"
        )
    if batch.attributes & CONTROL_FLAG:
        raise InvalidRecordError(f"{topic_partition}: clients may not write control records")
    if batch.producer_id >= 0 and batch.base_sequence < 0:
        raise InvalidSequenceError(
            f"{topic_partition}: invalid sequence {batch.base_sequence} in a batch of producer {batch.producer_id}"
        )


def _check_unchanged(batch: RecordBatch, topic_partition: TopicPartition, config: LogConfig, now_ms: int) -> int:
    """Check records that are stored unchanged, or only a few of them; return their greatest timestamp."""
    if _header_requires_walk(batch, config, now_ms):
        return _check_records(batch, topic_partition, config, now_ms)
    if not batch.attributes & CODEC_MASK:
        payload = bytes(batch.payload())
        if IS_COMPILED and may_have_headers(payload, batch.record_count):
            return _check_records(batch, topic_partition, config, now_ms)
        _check_first_records(batch, payload)
    return batch.max_timestamp


def _header_requires_walk(batch: RecordBatch, config: LogConfig, now_ms: int) -> bool:
    """Whether the records must be walked, because the header does not prove every record acceptable."""
    if config.compact or config.validate_every_record or batch.attributes & TIMESTAMP_TYPE_FLAG:
        return True
    if not config.log_append_time:
        # The base timestamp is the timestamp of the first record, which need not be the oldest.
        if config.message_timestamp_before_max_ms != _UNBOUNDED:
            return True
        if batch.max_timestamp - now_ms > config.message_timestamp_after_max_ms:
            return True
    return False


def _check_first_records(batch: RecordBatch, payload: bytes) -> None:
    """Check the first two records of an uncompressed batch, or the first 32 when some of them have headers.

    Why: Kafka's consumers can never get past a record that they cannot read, for example one with a null header name.
    Raises InvalidRecordError.
    """
    count = _LOOKED_AT if may_have_headers(payload, min(_LOOKED_AT, batch.record_count)) else 2
    records = walk_records(payload, batch.record_count, 0, batch.last_offset_delta, batch.base_timestamp, -1, None)
    for _ in islice(records, count):
        pass


def _target_codec(config: LogConfig, source: Codec) -> Codec:
    return source if config.compression_type == "producer" else _TARGET_CODECS[config.compression_type]


def _check_records(batch: RecordBatch, topic_partition: TopicPartition, config: LogConfig, now_ms: int) -> int:
    """Walk the records of a batch; return their greatest timestamp. Raises an error that lists the invalid records."""
    if not batch.attributes & TIMESTAMP_TYPE_FLAG:
        greatest = _greatest_timestamp_if_all_are_right(batch, config, now_ms)
        if greatest is not None:
            return greatest
    errors = RecordErrors(topic_partition, config, now_ms)
    max_timestamp = NO_TIMESTAMP
    for record in _records_of(batch, config):
        errors.check(batch, record)
        max_timestamp = max(max_timestamp, record.timestamp_ms)
    errors.raise_if_any()
    return max_timestamp


def _greatest_timestamp_if_all_are_right(batch: RecordBatch, config: LogConfig, now_ms: int) -> int | None:
    """Return the greatest timestamp if every record is valid, as in nearly all batches, else None.

    The walk that names each invalid record is far slower. Raises InvalidRecordError for malformed records.
    """
    try:
        payload = unpack_payload(batch, config.max_decompressed_bytes, config.inline)
    except CorruptRecordError as error:
        raise InvalidRecordError(error.message) from error
    found = summarize_records(
        payload, batch.record_count, batch.base_offset, batch.last_offset_delta, batch.base_timestamp, yield_interpreter
    )
    if config.compact and found.keyless_count:
        return None
    if not config.log_append_time and (
        now_ms - found.min_timestamp > config.message_timestamp_before_max_ms
        or found.max_timestamp - now_ms > config.message_timestamp_after_max_ms
    ):
        return None
    return found.max_timestamp


def _records_of(batch: RecordBatch, config: LogConfig) -> Iterator[Record]:
    """Yield the records of a batch whose checksum is valid.

    Raises InvalidRecordError also when the records cannot be decompressed: the batch was sent that way, and a client
    would repeat a batch that is called corrupt again and again.
    """
    try:
        yield from unpack_records(batch, config.max_decompressed_bytes, config.inline)
    except CorruptRecordError as error:
        raise InvalidRecordError(error.message) from error


# --- batches that must be rebuilt -------------------------------------------------------------------------


class _Conversion:
    """Builds one magic 2 batch from records that came in another format or codec."""

    def __init__(
        self, topic_partition: TopicPartition, config: LogConfig, next_offset: int, leader_epoch: int, now_ms: int
    ) -> None:
        self._topic_partition = topic_partition
        self._config = config
        self._next_offset = next_offset
        self._leader_epoch = leader_epoch
        self._now_ms = now_ms
        self._errors = RecordErrors(topic_partition, config, now_ms)

    def of_batch(self, batch: RecordBatch, target: Codec) -> PreparedAppend:
        """Convert a magic 2 batch to another codec."""
        data = self._build([batch], target, batch)
        prepared = self._prepared(data)
        if batch.producer_id >= 0:
            update = producer_update(RecordBatch(data, 0), self._next_offset)
            prepared.producers = () if update is None else (update,)
        return prepared

    def of_messages(self, records: Buffer) -> PreparedAppend:
        """Convert messages of magic 0 or 1: several plain ones or one compressed wrapper."""
        magic = count = 0
        source = Codec.NONE
        self._check_set_size(len(records))
        for count, batch in enumerate(iter_batches(records), 1):  # not all in memory at once: there may be millions
            check_count(count, self._config.inline)
            _check_batch(batch, self._topic_partition, self._config, AppendOrigin.CLIENT)
            if count == 1:
                magic = batch.magic
            elif batch.magic != magic:
                raise InvalidMagicError(
                    f"{self._topic_partition}: messages of magic {magic} and {batch.magic} in one append"
                )
            source = codec_of(batch.attributes) or source
        if source is not Codec.NONE and count > 1:
            raise InvalidRecordError(f"{self._topic_partition}: more than one compressed message in an append")
        if source is Codec.ZSTD:
            raise UnsupportedForMessageFormatError(
                f"{self._topic_partition}: message format {magic} does not support zstd"
            )
        return self._prepared(self._build(iter_batches(records), _target_codec(self._config, source), None))

    def _check_set_size(self, size_bytes: int) -> None:
        """Refuse messages that could not fit into one batch even if all were empty, before looking at them."""
        config = self._config
        if (
            _target_codec(config, Codec.NONE) is Codec.NONE
            and size_bytes * _MIN_RECORD_BYTES > config.max_message_bytes * _MIN_MESSAGE_BYTES
        ):
            raise RecordTooLargeError(
                f"{self._topic_partition}: {size_bytes} bytes of messages do not fit into one batch of at most "
                f"{config.max_message_bytes} bytes (max.message.bytes)"
            )

    def _checked(self, batches: Iterable[RecordBatch]) -> Iterator[Record]:
        """Yield the checked records with their new offsets. They are never all in memory as objects."""
        offset = self._next_offset
        for batch in batches:
            if batch.magic < 2 and batch.is_compressed:
                check_wrapped(batch, self._config.max_decompressed_bytes, self._config.inline)
            for record in _records_of(batch, self._config):
                self._errors.check(batch, record)
                if record.timestamp_ms < NO_TIMESTAMP:
                    raise InvalidTimestampError(
                        f"{self._topic_partition}: negative timestamp {record.timestamp_ms} of a record"
                    )
                record.offset = offset
                offset += 1
                yield record
        self._errors.raise_if_any()

    def _build(self, batches: Iterable[RecordBatch], codec: Codec, producer: RecordBatch | None) -> bytearray:
        try:
            data = build_batch(
                self._checked(batches),
                base_offset=self._next_offset,
                codec=codec,
                level=_level(self._config, codec),
                log_append_time_ms=self._now_ms if self._config.log_append_time else None,
                partition_leader_epoch=self._leader_epoch,
                producer_id=-1 if producer is None else producer.producer_id,
                producer_epoch=-1 if producer is None else producer.producer_epoch,
                base_sequence=-1 if producer is None else producer.base_sequence,
                is_transactional=producer is not None and producer.is_transactional,
                is_control=producer is not None and producer.is_control,
            )
        except ValueError as error:  # the timestamps are too far apart for one batch
            raise InvalidTimestampError(f"{self._topic_partition}: {error}") from None
        if len(data) > self._config.max_message_bytes:
            raise RecordTooLargeError(
                f"{self._topic_partition}: converted record batch of {len(data)} bytes, "
                f"max.message.bytes is {self._config.max_message_bytes}"
            )
        return bytearray(data)

    def _prepared(self, data: bytearray) -> PreparedAppend:
        batch = RecordBatch(data, 0)
        last_offset = batch.last_offset
        prepared = PreparedAppend(
            data,
            self._next_offset,
            last_offset,
            batch.max_timestamp,
            last_offset,
            (PreparedBatch(len(data), self._next_offset, last_offset, 2, self._leader_epoch),),
            (),
            self._now_ms if self._config.log_append_time else NO_TIMESTAMP,
        )
        prepared.converted_records = last_offset - self._next_offset + 1
        return prepared


def _level(config: LogConfig, codec: Codec) -> int | None:
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return levels.get(codec)
