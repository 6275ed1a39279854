"""The builder of magic 2 batches from records."""

from collections.abc import Iterable, Sequence
from typing import TypedDict, Unpack

from .batch import (
    CONTROL_FLAG,
    DELETE_HORIZON_FLAG,
    HEADER_SIZE_V2,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_FLAG,
    TRANSACTIONAL_FLAG,
    write_header_v2,
)
from .compression import Codec, compress
from .value_join import join_values
from .varint import ONE_BYTE, encode_unsigned
from .walk import Headers, Record


class BatchFields(TypedDict, total=False):
    """The header fields of a batch that do not follow from its records. All are optional.

    base_offset: default the first record's offset (0 without records). last_offset: default the last record's; the
    cleaner keeps the old one. log_append_time_ms: makes the timestamp type LogAppendTime, and the max timestamp this.
    delete_horizon_ms: KIP-534; becomes the base timestamp. max_timestamp_ms: default the records' (-1 without records).
    """

    base_offset: int | None
    last_offset: int | None
    codec: Codec
    level: int | None
    log_append_time_ms: int | None
    max_timestamp_ms: int | None
    delete_horizon_ms: int | None
    producer_id: int
    producer_epoch: int
    base_sequence: int
    is_transactional: bool
    is_control: bool
    partition_leader_epoch: int


def build_batch(records: Iterable[Record], **fields: Unpack[BatchFields]) -> bytes:
    """Build one batch of the records, which are in order of their offsets; without records only a header.

    Raises ValueError when offsets do not rise, or offsets or timestamps are too far apart for one batch.
    """
    builder = BatchBuilder(**fields)
    for record in records:
        builder.append(record.offset, record.timestamp_ms, record.key, record.value, record.headers)
    return builder.build()


class BatchBuilder:
    """Takes records one by one. `size_bytes` is the size of the batch so far, before compression."""

    def __init__(self, **fields: Unpack[BatchFields]) -> None:
        self._fields = fields
        self._payload = bytearray()
        self._base_offset = fields.get("base_offset")
        self._base_timestamp = fields.get("delete_horizon_ms")
        self._max_timestamp = NO_TIMESTAMP
        self._last_offset = -1
        self._record_count = 0

    @property
    def record_count(self) -> int:
        return self._record_count

    @property
    def size_bytes(self) -> int:
        """Size of the header and the records so far, uncompressed."""
        return HEADER_SIZE_V2 + len(self._payload)

    def append(
        self, offset: int, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers = ()
    ) -> None:
        """Add a record. Raises ValueError when its offset does not rise or is too far from the base.

        Also raises ValueError for timestamps that are over 63 bits apart.
        """
        if self._base_offset is None:
            self._base_offset = offset
        if self._base_timestamp is None:
            self._base_timestamp = timestamp_ms
        offset_delta = offset - self._base_offset
        timestamp_delta = timestamp_ms - self._base_timestamp
        if timestamp_delta > 0x7FFFFFFFFFFFFFFF:
            raise ValueError(f"Timestamp {timestamp_ms} is too far from {self._base_timestamp} for one batch")
        if not 0 <= offset_delta <= 0x7FFFFFFF or (self._record_count and offset <= self._last_offset):
            raise ValueError(
                f"Offset {offset} cannot follow {self._last_offset} in a batch from {self._base_offset} on"
            )
        self._payload += encode_record(offset_delta, timestamp_delta, key, value, headers)
        self._last_offset = offset
        self._record_count += 1
        if timestamp_ms > self._max_timestamp:
            self._max_timestamp = timestamp_ms

    def append_values(self, values: Sequence[bytes], timestamp_ms: int) -> None:
        """Make the batch of these values alone, without keys and headers. The builder must be new."""
        self._base_offset, self._base_timestamp, self._max_timestamp = 0, timestamp_ms, timestamp_ms
        self._payload += join_values(values)
        self._record_count = len(values)
        self._last_offset = len(values) - 1

    def build(self) -> bytes:
        """Return the batch with its checksum. The builder can take further records and build again."""
        fields = self._fields
        codec = fields.get("codec", Codec.NONE)
        buffer = bytearray(HEADER_SIZE_V2)
        if self._record_count == 0:
            codec = Codec.NONE
        buffer += self._payload if codec is Codec.NONE else compress(codec, self._payload, fields.get("level"))
        base_offset = self._base_offset or 0
        last_offset = fields.get("last_offset")
        if last_offset is None:
            last_offset = self._last_offset if self._record_count else base_offset
        max_timestamp = fields.get("max_timestamp_ms")
        append_time = fields.get("log_append_time_ms")
        if append_time is not None:
            max_timestamp = append_time
        elif max_timestamp is None:
            max_timestamp = self._max_timestamp
        write_header_v2(
            buffer,
            base_offset=base_offset,
            attributes=self._attributes(codec),
            last_offset_delta=last_offset - base_offset,
            base_timestamp=NO_TIMESTAMP if self._base_timestamp is None else self._base_timestamp,
            max_timestamp=max_timestamp,
            producer_id=fields.get("producer_id", NO_PRODUCER_ID),
            producer_epoch=fields.get("producer_epoch", NO_PRODUCER_EPOCH),
            base_sequence=fields.get("base_sequence", NO_SEQUENCE),
            record_count=self._record_count,
            partition_leader_epoch=fields.get("partition_leader_epoch", NO_PARTITION_LEADER_EPOCH),
        )
        return bytes(buffer)

    def _attributes(self, codec: Codec) -> int:
        attributes = int(codec)
        if self._fields.get("log_append_time_ms") is not None:
            attributes |= TIMESTAMP_TYPE_FLAG
        if self._fields.get("is_transactional"):
            attributes |= TRANSACTIONAL_FLAG
        if self._fields.get("is_control"):
            attributes |= CONTROL_FLAG
        if self._fields.get("delete_horizon_ms") is not None:
            attributes |= DELETE_HORIZON_FLAG
        return attributes


_NO_HEADERS = b"\0"
_NULL = b"\1"


def encode_record(
    offset_delta: int, timestamp_delta: int, key: bytes | None, value: bytes | None, headers: Headers = ()
) -> bytes:
    """One record as walk.py describes it, its length in front."""
    body = b"".join(
        (
            b"\0",
            _varint(timestamp_delta),
            _varint(offset_delta),
            _NULL if key is None else _varint(len(key)),
            key or b"",
            _NULL if value is None else _varint(len(value)),
            value or b"",
            _encode_headers(headers) if headers else _NO_HEADERS,
        )
    )
    return _varint(len(body)) + body


def _encode_headers(headers: Headers) -> bytes:
    pieces = [_varint(len(headers))]
    for name, value in headers:
        raw = name.encode("utf-8", "surrogateescape")
        pieces.append(_varint(len(raw)))
        pieces.append(raw)
        if value is None:
            pieces.append(_NULL)
        else:
            pieces.append(_varint(len(value)))
            pieces.append(value)
    return b"".join(pieces)


def _varint(value: int) -> bytes:
    raw = value << 1 if value >= 0 else ~(value << 1)
    return ONE_BYTE[raw] if raw < 0x80 else encode_unsigned(raw)
