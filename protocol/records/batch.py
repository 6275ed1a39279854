"""The headers of record batches (magic 2) and messages (magic 0 and 1): read, checked, patched in place."""

# A log and a request's `records` are sequences of entries that begin alike:
#
#     0  base offset        8   magic 0 and 1: the message's; in a compressed wrapper that of the last one inside
#     8  batch length       4   bytes after this field
#     16 magic              1   (12..16 is the leader epoch in magic 2, the CRC in magic 0 and 1)
#
# Magic 2 (KIP-98), 61 bytes, then the records, compressed as one when the attributes say so:
#
#     0  base offset        8      17 crc                4   CRC-32C of 21..end
#     8  batch length       4      21 attributes         2   bits 0-2 codec, 3 log append time, 4 transactional,
#     12 leader epoch       4      23 last offset delta  4        5 control, 6 delete horizon
#     16 magic              1      27 base timestamp     8   the delete horizon when attribute 6 is set (KIP-534)
#                                  35 max timestamp      8
#                                  43 producer id 8, 51 producer epoch 2, 53 base sequence 4, 57 record count 4
#
# The checksum does not cover offset and leader epoch, so a broker can assign both without changing the rest.

import struct
from collections.abc import Iterator
from enum import IntEnum

from ...base.buffer import Buffer
from ..errors import CorruptRecordError
from .compression import Codec, codec_of
from .crc import crc32, crc32c

LOG_OVERHEAD = 12
"""Size of offset and length, which the batch length does not include."""
HEADER_SIZE_V2 = 61
MIN_SIZE = (26, 34, HEADER_SIZE_V2)
"""Smallest size of an entry by magic."""
LENGTH_POSITION = 8
MAGIC_POSITION = 16
CURRENT_MAGIC = 2

CODEC_MASK = 0x07
TIMESTAMP_TYPE_FLAG = 0x08
TRANSACTIONAL_FLAG = 0x10
CONTROL_FLAG = 0x20
DELETE_HORIZON_FLAG = 0x40

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_PARTITION_LEADER_EPOCH = -1

_HEADER_V2 = struct.Struct(">qiibIhiqqqhii")
_HEADER_V0 = struct.Struct(">qiIbb")
_HEADER_V1 = struct.Struct(">qiIbbq")
_INT64 = struct.Struct(">q")
_INT32 = struct.Struct(">i")
_UINT32 = struct.Struct(">I")
_INT16 = struct.Struct(">h")
_PLACE_V2 = struct.Struct(">qii")  # base offset, length, leader epoch

_unpack_v2 = _HEADER_V2.unpack_from
unpack_length = _INT32.unpack_from


class TimestampType(IntEnum):
    """The origin of the timestamps: the producer or the broker. Magic 0 has no timestamps."""

    NO_TIMESTAMP = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class RecordBatch:
    """The header of the entry at `position` in `buffer`, as it was read; later patches of the buffer do not change it.

    Messages of magic 0 and 1 are represented as batches without producer and leader epoch. Their `base_offset` is the
    offset on the wire: in a compressed wrapper the *last* one inside, with `record_count` -1.
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "batch_length",
        "buffer",
        "crc",
        "last_offset_delta",
        "magic",
        "max_timestamp",
        "partition_leader_epoch",
        "position",
        "producer_epoch",
        "producer_id",
        "record_count",
    )

    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    def __init__(self, buffer: Buffer, position: int) -> None:
        """Read the header. The caller knows that it is complete and has magic 0, 1 or 2 (see `read_header`)."""
        self.buffer = buffer
        self.position = position
        if buffer[position + 16] == 2:
            (
                self.base_offset,
                self.batch_length,
                self.partition_leader_epoch,
                self.magic,
                self.crc,
                self.attributes,
                self.last_offset_delta,
                self.base_timestamp,
                self.max_timestamp,
                self.producer_id,
                self.producer_epoch,
                self.base_sequence,
                self.record_count,
            ) = _unpack_v2(buffer, position)
        else:
            self._read_legacy(buffer, position)

    def _read_legacy(self, buffer: Buffer, position: int) -> None:
        timestamp = NO_TIMESTAMP
        if buffer[position + MAGIC_POSITION] == 0:
            self.base_offset, self.batch_length, self.crc, self.magic, self.attributes = _HEADER_V0.unpack_from(
                buffer, position
            )
        else:
            self.base_offset, self.batch_length, self.crc, self.magic, self.attributes, timestamp = (
                _HEADER_V1.unpack_from(buffer, position)
            )
        self.base_timestamp = timestamp
        self.max_timestamp = timestamp
        self.last_offset_delta = 0
        self.partition_leader_epoch = NO_PARTITION_LEADER_EPOCH
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.base_sequence = NO_SEQUENCE
        self.record_count = -1 if self.attributes & CODEC_MASK else 1

    def __repr__(self) -> str:
        return (
            f"RecordBatch(magic={self.magic}, offsets={self.base_offset}..{self.last_offset}, "
            f"size_bytes={self.size_bytes}, attributes={self.attributes:#x}, "
            f"leader_epoch={self.partition_leader_epoch}, producer_id={self.producer_id}, "
            f"producer_epoch={self.producer_epoch}, base_sequence={self.base_sequence})"
        )

    @property
    def size_bytes(self) -> int:
        """Size of the entry, including offset and length."""
        return self.batch_length + LOG_OVERHEAD

    @property
    def end(self) -> int:
        """Where the next entry begins in `buffer`."""
        return self.position + self.batch_length + LOG_OVERHEAD

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Sequence of the last record, or -1 without a producer."""
        if self.base_sequence < 0:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def compression(self) -> Codec:
        """The codec. Raises UnsupportedCompressionTypeError for an unassigned id."""
        return codec_of(self.attributes)

    @property
    def is_compressed(self) -> bool:
        return self.attributes & CODEC_MASK != 0

    @property
    def timestamp_type(self) -> TimestampType:
        if self.magic == 0:
            return TimestampType.NO_TIMESTAMP
        return TimestampType.LOG_APPEND_TIME if self.attributes & TIMESTAMP_TYPE_FLAG else TimestampType.CREATE_TIME

    @property
    def is_transactional(self) -> bool:
        return self.magic >= 2 and self.attributes & TRANSACTIONAL_FLAG != 0

    @property
    def is_control(self) -> bool:
        return self.magic >= 2 and self.attributes & CONTROL_FLAG != 0

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the cleaner may drop the batch's tombstones or marker (KIP-534); None when not set yet."""
        if self.magic < 2 or not self.attributes & DELETE_HORIZON_FLAG:
            return None
        return self.base_timestamp

    def view(self) -> memoryview:
        """Return the whole entry without copying."""
        return memoryview(self.buffer)[self.position : self.end]

    def payload(self) -> memoryview:
        """Magic 2: return the (compressed) records after the header without copying."""
        return memoryview(self.buffer)[self.position + HEADER_SIZE_V2 : self.end]

    def compute_crc(self) -> int:
        """Compute the checksum of the bytes."""
        if self.magic >= 2:
            position = self.position
            return crc32c(memoryview(self.buffer)[position + 21 : position + self.batch_length + LOG_OVERHEAD])
        return crc32(memoryview(self.buffer)[self.position + 16 : self.end])

    def is_valid_crc(self) -> bool:
        return self.compute_crc() == self.crc

    def place(self, buffer: bytearray | memoryview, base_offset: int, leader_epoch: int) -> None:
        """Magic 2: write offset and leader epoch, which the checksum does not cover, into `buffer`, which begins with
        it.
        """
        _PLACE_V2.pack_into(buffer, 0, base_offset, self.batch_length, leader_epoch)


def increment_sequence(sequence: int, increment: int) -> int:
    """Add to a producer's sequence, which wraps to 0 after 2**31 - 1."""
    return sequence + increment & 0x7FFFFFFF


def decrement_sequence(sequence: int, decrement: int) -> int:
    """The inverse of increment_sequence."""
    return sequence - decrement & 0x7FFFFFFF


def read_header(buffer: Buffer, position: int, end: int) -> RecordBatch | None:
    """Return the header at `position`; None when the header itself is cut off at `end`. The body may be cut off.

    Raises CorruptRecordError for an impossible length or magic.
    """
    remaining = end - position
    if remaining < LOG_OVERHEAD:
        return None
    (length,) = unpack_length(buffer, position + LENGTH_POSITION)
    if length < MIN_SIZE[0] - LOG_OVERHEAD:
        raise CorruptRecordError(f"Record size {length} at {position} is less than any record's")
    if remaining <= MAGIC_POSITION:
        return None
    magic = buffer[position + MAGIC_POSITION]
    if magic > CURRENT_MAGIC:
        raise CorruptRecordError(f"Invalid magic {magic} at {position}")
    if length + LOG_OVERHEAD < MIN_SIZE[magic]:
        raise CorruptRecordError(f"Record size {length} at {position} is less than the smallest of magic {magic}")
    if remaining < MIN_SIZE[magic]:
        return None
    return RecordBatch(buffer, position)


def iter_batches(buffer: Buffer, position: int = 0, end: int | None = None) -> Iterator[RecordBatch]:
    """Yield the entries of a record set of any magic, with unchecked headers; stop before an incomplete last entry.

    Raises CorruptRecordError for an impossible length or magic.
    """
    if end is None:
        end = len(buffer)
    while True:
        batch = read_header(buffer, position, end)
        if batch is None or batch.end > end:
            return
        yield batch
        position = batch.end


def write_header_v2(
    buffer: bytearray,
    *,
    base_offset: int,
    attributes: int,
    last_offset_delta: int,
    base_timestamp: int,
    max_timestamp: int,
    producer_id: int,
    producer_epoch: int,
    base_sequence: int,
    record_count: int,
    partition_leader_epoch: int,
) -> None:
    """Write the header and checksum into the first 61 bytes of `buffer`, which already has the records after them."""
    _HEADER_V2.pack_into(
        buffer,
        0,
        base_offset,
        len(buffer) - LOG_OVERHEAD,
        partition_leader_epoch,
        CURRENT_MAGIC,
        0,
        attributes,
        last_offset_delta,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        record_count,
    )
    _UINT32.pack_into(buffer, 17, crc32c(memoryview(buffer)[21:]))


def set_max_timestamp(
    buffer: bytearray | memoryview, position: int, timestamp_type: TimestampType, max_timestamp: int
) -> None:
    """Patch timestamp type and max timestamp (magic 1: the timestamp) and, if that changes anything, the checksum.

    Raises ValueError for magic 0, which has no timestamps.
    """
    batch = RecordBatch(buffer, position)
    if batch.magic == 0:
        raise ValueError("Magic 0 has no timestamp to set")
    if batch.timestamp_type is timestamp_type and batch.max_timestamp == max_timestamp:
        return
    attributes = batch.attributes & ~TIMESTAMP_TYPE_FLAG
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        attributes |= TIMESTAMP_TYPE_FLAG
    if batch.magic == 1:
        buffer[position + 17] = attributes & 0xFF
        _INT64.pack_into(buffer, position + 18, max_timestamp)
        _UINT32.pack_into(buffer, position + 12, batch.compute_crc())
    else:
        _INT16.pack_into(buffer, position + 21, attributes)
        _INT64.pack_into(buffer, position + 35, max_timestamp)
        _UINT32.pack_into(buffer, position + 17, batch.compute_crc())
