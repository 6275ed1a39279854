"""Batches that decompress to far more than their size: a few bytes for each 128 KiB."""

import struct
import time
import zlib

import cramjam
from pybroker.protocol.records.batch import RecordBatch
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.lz4 import short_xxhash32
from pybroker.protocol.records.record import Record, build_batch

__all__ = ["gzip_bomb", "lz4_bomb", "packed_batch", "snappy_bomb", "with_crc", "zstd_bomb", "zstd_mine"]


def with_crc(batch: bytearray) -> bytes:
    """The batch with its checksum corrected."""
    struct.pack_into(">I", batch, 17, RecordBatch(batch, 0).compute_crc())
    return bytes(batch)


def packed_batch(codec: Codec, payload: bytes, record_count: int) -> bytes:
    """A batch with this payload whose header claims so many records."""
    batch = bytearray(build_batch([Record(0, time.time_ns() // 1_000_000, b"key", b"value")]))[:61] + payload
    struct.pack_into(">i", batch, 8, len(batch) - 12)
    struct.pack_into(">h", batch, 21, codec)
    struct.pack_into(">i", batch, 23, record_count - 1)
    struct.pack_into(">i", batch, 57, record_count)
    return with_crc(batch)


def gzip_bomb(size: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(1024 * 1024)
    return b"".join(packer.compress(zeros) for _ in range(size // len(zeros))) + packer.flush()


def zstd_bomb(size: int) -> bytes:
    """A frame of run-length blocks: four bytes stand for 128 KiB."""
    blocks = size // (128 * 1024)
    head = b"\x28\xb5\x2f\xfd" + b"\x00" + b"\x58"
    run = (128 * 1024) << 3 | 1 << 1
    body = b"".join(struct.pack("<I", run | (number == blocks - 1))[:3] + b"\0" for number in range(blocks))
    return head + body


def zstd_mine(size: int) -> bytes:
    """A frame of compressed blocks, which do not tell their decompressed size."""
    packer = cramjam.zstd.Compressor(level=1)
    piece = b"0123456789abcdef" * 65_536
    for _ in range(size // len(piece)):
        packer.compress(piece)
    return bytes(packer.finish())


def lz4_bomb(size: int) -> bytes:
    block = bytes(cramjam.lz4.compress_block(bytes(4 * 1024 * 1024), store_size=False))
    descriptor = b"\x60\x70"
    head = b"\x04\x22\x4d\x18" + descriptor + bytes((short_xxhash32(descriptor) >> 8 & 0xFF,))
    return head + (struct.pack("<I", len(block)) + block) * (size // (4 * 1024 * 1024)) + b"\0\0\0\0"


def snappy_bomb(size: int) -> bytes:
    chunk = bytes(cramjam.snappy.compress_raw(bytes(1024 * 1024)))
    return b"\x82SNAPPY\x00\0\0\0\1\0\0\0\1" + (struct.pack(">I", len(chunk)) + chunk) * (size // (1024 * 1024))
