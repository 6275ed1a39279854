"""Messages of magic 0 and 1, alone or inside a compressed wrapper message: read and written.

    offset 8 | size 4 | crc 4 | magic 1 | attributes 1 | timestamp 8 (magic 1) | key size 4, key | value size 4, value

The CRC-32 covers everything after it. Attributes: 0-2 codec (no zstd), 3 log append time (magic 1). A size of -1 is
null. Compressed, the value of one wrapper message is a whole message set, its offset that of the last message inside.
Inner offsets are absolute in magic 0 and begin at 0 in magic 1 (KIP-31); a wrapper's LogAppendTime counts for all
inside.
"""

import struct
from collections.abc import Iterator

from ..errors import CorruptRecordError, InvalidRecordError
from .batch import CODEC_MASK, LOG_OVERHEAD, MIN_SIZE, TIMESTAMP_TYPE_FLAG, RecordBatch, TimestampType
from .compression import DEFAULT_MAX_DECOMPRESSED_BYTES, Codec, compress, decompress
from .crc import crc32
from .walk import Record

_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_HEADERS = (struct.Struct(">qiIbb"), struct.Struct(">qiIbbq"))
_INT64_MAX = (1 << 63) - 1


def read_messages(batch: RecordBatch, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES) -> Iterator[Record]:
    """Yield the record of a plain message, or the records inside a wrapper with absolute offsets.

    Magic 0 gives timestamp -1. A wrapper is read whole before its first record. Checksums are not checked (see
    `check_inner_crcs`). Raises InvalidRecordError or CorruptRecordError when the structure is broken or holds more than
    `max_bytes`.
    """
    data = bytes(batch.view())
    if not batch.is_compressed:
        key, value = _key_and_value(data, 0, len(data), batch.magic)
        yield Record(batch.base_offset, batch.max_timestamp, key, value)
        return
    inner = wrapped_set(batch, max_bytes)
    shift = _shift_of_inner_offsets(batch, inner)
    append_time = batch.max_timestamp if batch.timestamp_type is TimestampType.LOG_APPEND_TIME else None
    for position, end in message_bounds(inner, batch.magic):
        magic = inner[position + 16]
        if inner[position + 17] & CODEC_MASK:
            raise InvalidRecordError("A message inside a compressed one is compressed itself")
        offset = _INT64.unpack_from(inner, position)[0] + shift
        timestamp = -1
        if magic == 1:
            timestamp = _INT64.unpack_from(inner, position + 18)[0] if append_time is None else append_time
        key, value = _key_and_value(inner, position, end, magic)
        yield Record(offset, timestamp, key, value)


def wrapped_set(batch: RecordBatch, max_bytes: int) -> bytes:
    """Return the decompressed message set inside a wrapper."""
    codec = batch.compression
    if codec is Codec.ZSTD:
        raise InvalidRecordError(f"Magic {batch.magic} has no zstd")
    data = batch.view()
    _, value = _key_and_value(bytes(data), 0, len(data), batch.magic)
    if value is None:
        raise InvalidRecordError("Compressed message without a value")
    return bytes(decompress(codec, value, max_bytes, batch.magic))


def message_bounds(inner: bytes, magic: int) -> Iterator[tuple[int, int]]:
    """Yield (position, end) of each message of an uncompressed set, which must fill `inner` and have that magic."""
    position = 0
    end = len(inner)
    least = MIN_SIZE[magic]
    while position < end:
        if end - position < least:
            raise InvalidRecordError(f"{end - position} bytes are left after the messages in a compressed one")
        (size,) = _INT32.unpack_from(inner, position + 8)
        message_end = position + LOG_OVERHEAD + size
        if message_end - position < least or message_end > end:
            raise InvalidRecordError(f"Message of {size} bytes where {end - position} are left in a compressed one")
        if inner[position + 16] != magic:
            raise InvalidRecordError(f"Message of magic {inner[position + 16]} in a compressed one of magic {magic}")
        yield position, message_end
        position = message_end


def message_checksums(batch: RecordBatch, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES) -> Iterator[tuple[int, int]]:
    """Yield the (stored, computed) checksum of each record that `read_messages` yields."""
    if not batch.is_compressed:
        yield batch.crc, batch.compute_crc()
        return
    inner = memoryview(wrapped_set(batch, max_bytes))
    for position, end in message_bounds(bytes(inner), batch.magic):
        yield int.from_bytes(inner[position + 12 : position + 16], "big"), crc32(inner[position + 16 : end])


def check_inner_crcs(batch: RecordBatch, max_bytes: int = DEFAULT_MAX_DECOMPRESSED_BYTES) -> None:
    """Check each message inside a wrapper against its own checksum. Raises CorruptRecordError."""
    for stored, computed in message_checksums(batch, max_bytes):
        if stored != computed:
            raise CorruptRecordError(f"A message inside a compressed one is corrupt (stored crc {stored})")


def _shift_of_inner_offsets(batch: RecordBatch, inner: bytes) -> int:
    """Return the number to add to inner offsets to make them absolute."""
    last_position = -1
    greatest = 0
    for position, _ in message_bounds(inner, batch.magic):
        last_position = position
        greatest = max(greatest, _INT64.unpack_from(inner, position)[0])
    if last_position < 0:
        raise InvalidRecordError("Compressed message with no messages inside")
    # Some versions of librdkafka produce wrappers of magic 1 with offset 0: their inner offsets are used unchanged.
    if batch.magic == 0 or batch.base_offset == 0:
        return 0
    last_inner: int = _INT64.unpack_from(inner, last_position)[0]
    shift = batch.base_offset - last_inner
    if shift < 0 or shift + greatest > _INT64_MAX:
        raise InvalidRecordError(
            f"Compressed message of offset {batch.base_offset}, inner offsets up to {greatest}, the last {last_inner}"
        )
    return shift


def _key_and_value(data: bytes, position: int, end: int, magic: int) -> tuple[bytes | None, bytes | None]:
    """Return key and value of the message at `position`, whose size is known to cover its header."""
    key, position = _sized_bytes(data, position + _HEADERS[magic].size, end)
    value, position = _sized_bytes(data, position, end)
    if position != end:
        raise InvalidRecordError(f"Message that ends at {end} has a value that ends at {position}")
    return key, value


def _sized_bytes(data: bytes, position: int, end: int) -> tuple[bytes | None, int]:
    if end - position < 4:
        raise InvalidRecordError(f"Message ends at {end}, inside a size at {position}")
    (size,) = _INT32.unpack_from(data, position)
    position += 4
    if size == -1:
        return None, position
    if size < 0 or size > end - position:
        raise InvalidRecordError(f"Message has a key or value of {size} bytes where {end - position} are left")
    return data[position : position + size], position + size


def encode_message(
    magic: int,
    offset: int,
    timestamp_ms: int,
    key: bytes | None,
    value: bytes | None,
    attributes: int = 0,
) -> bytes:
    """Encode one message with its offset and size. Magic 0 has no timestamp."""
    body = bytearray(LOG_OVERHEAD)
    body += b"\0\0\0\0"
    body.append(magic)
    if magic == 0:
        body.append(attributes & CODEC_MASK)
    else:
        body.append(attributes & 0xFF)
        body += _INT64.pack(timestamp_ms)
    for part in (key, value):
        if part is None:
            body += b"\xff\xff\xff\xff"
        else:
            body += _INT32.pack(len(part))
            body += part
    _INT64.pack_into(body, 0, offset)
    _INT32.pack_into(body, 8, len(body) - LOG_OVERHEAD)
    body[12:16] = crc32(memoryview(body)[16:]).to_bytes(4, "big")
    return bytes(body)


def build_message_set(
    records: list[Record],
    magic: int,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    log_append_time_ms: int | None = None,
) -> bytes:
    """Build a message set of the records, without their headers; with a codec it is one wrapper message.

    With `log_append_time_ms` every message has that timestamp, of type LogAppendTime.
    """
    if codec is Codec.ZSTD:
        raise ValueError("Magic 0 and 1 have no zstd")
    if not records:
        return b""
    attributes = 0 if log_append_time_ms is None else TIMESTAMP_TYPE_FLAG
    # Inside a wrapper of magic 1 offsets are relative to the first (KIP-31).
    base_offset = records[0].offset if magic == 1 and codec is not Codec.NONE else 0
    messages = b"".join(
        encode_message(
            magic,
            record.offset - base_offset,
            record.timestamp_ms if log_append_time_ms is None else log_append_time_ms,
            record.key,
            record.value,
            attributes,
        )
        for record in records
    )
    if codec is Codec.NONE:
        return messages
    if log_append_time_ms is None:
        timestamp = max(record.timestamp_ms for record in records)
    else:
        timestamp = log_append_time_ms
    value = compress(codec, messages, level, magic)
    return encode_message(magic, records[-1].offset, timestamp, None, value, attributes | codec)
