"""Varints, patched offsets and whole batches, for tests that write and read record batches by hand."""

import struct

from pybroker.base.buffer import Buffer
from pybroker.protocol.records.batch import RecordBatch, iter_batches, read_header
from pybroker.protocol.records.record import read_records
from pybroker.protocol.records.varint import encode_unsigned, read_unsigned


def write_varint(value: int) -> bytes:
    """A zigzag varint of 32 bits."""
    return encode_unsigned((value << 1) ^ (value >> 31))


def write_varlong(value: int) -> bytes:
    """A zigzag varint of 64 bits."""
    return encode_unsigned((value << 1) ^ (value >> 63))


def read_varlong(data: bytes, position: int) -> tuple[int, int]:
    """(value, end position) of the zigzag varint of 64 bits at `position`."""
    raw, position = read_unsigned(data, position, 64)
    return (raw >> 1) ^ -(raw & 1), position


def set_base_offset(buffer: bytearray | memoryview, position: int, base_offset: int) -> None:
    """Patch the offset field of the batch or message at `position`, which no checksum covers."""
    struct.pack_into(">q", buffer, position, base_offset)


def batch_at(buffer: Buffer, position: int = 0) -> RecordBatch:
    """The batch or message at `position`, which must be whole and have the right checksum."""
    batch = read_header(buffer, position, len(buffer))
    assert batch is not None
    assert batch.end <= len(buffer)
    assert batch.is_valid_crc()
    return batch


def valid_bytes(buffer: Buffer) -> int:
    """The bytes of whole entries at the start of a record set (Kafka's validBytes)."""
    return sum(batch.size_bytes for batch in iter_batches(buffer))


def first_offset(batch: RecordBatch, max_bytes: int = 1 << 30) -> int:
    """The offset of the first record of a batch of any magic. A wrapper is decompressed for it."""
    if batch.magic >= 2 or not batch.is_compressed:
        return batch.base_offset
    return next(iter(read_records(batch, max_bytes))).offset
