"""The compression codecs of record sets. Decompression is bounded.

Why: a few kilobytes of a hostile payload can claim gigabytes.
How: each decoder has a limit (`max_bytes`), finds an upper bound of the output from the frames' structure before it
allocates, and uses the smaller of the two. Unused pages of the output buffer take no memory. Every fault of a payload
is a `CorruptRecordError`. gzip uses zlib, whose decoder has an output limit. The others use cramjam, with the framing
read in snappy.py, lz4.py and zstd_frame.py.
"""

import zlib
from enum import IntEnum

import cramjam

from ...base.buffer import Buffer
from ..errors import CorruptRecordError, UnsupportedCompressionTypeError
from .lz4 import compress_lz4, decompress_lz4
from .output_buffer import PayloadTooLargeError, output_buffer
from .snappy import check_snappy_size, compress_snappy, decompress_snappy
from .zstd_frame import zstd_bounds

DEFAULT_MAX_DECOMPRESSED_BYTES = 256 * 1024 * 1024
"""Default limit of decompressed bytes of a batch. Kafka has no limit."""


class Codec(IntEnum):
    """Kafka's CompressionType; the value is the low three bits of the attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


CODEC_OF_ID: tuple[Codec | None, ...] = (*Codec, None, None, None)
"""Codec by the three attribute bits; None for unassigned values."""

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_SLICE = 16 * 1024


def codec_of(attributes: int) -> Codec:
    """Return the codec in the low bits of attributes. Raises UnsupportedCompressionTypeError for an unassigned one."""
    codec = CODEC_OF_ID[attributes & 7]
    if codec is None:
        raise UnsupportedCompressionTypeError(f"Unknown compression type {attributes & 7}")
    return codec


def compress(codec: Codec, data: Buffer, level: int | None = None, magic: int = 2) -> bytes:
    """Compress a payload. `level` None is Kafka's default; with `magic` 0 lz4 writes Kafka's old wrong checksum."""
    if codec is Codec.NONE:
        return bytes(data)
    if codec is Codec.GZIP:
        return zlib.compress(data, -1 if level is None else level, wbits=31)
    if codec is Codec.SNAPPY:
        return compress_snappy(data)
    if codec is Codec.LZ4:
        return compress_lz4(data, level, wrong_header_checksum=magic == 0)
    return bytes(cramjam.zstd.compress(data, level=3 if level is None else level))


def decompress(codec: Codec, data: Buffer, max_bytes: int, magic: int = 2) -> bytes | bytearray | memoryview:
    """Decompress a payload of records. With `magic` 0 lz4 accepts any header checksum, as Kafka does.

    Raises CorruptRecordError when the payload is broken, its subclass PayloadTooLargeError when it holds more than
    `max_bytes`.
    """
    if codec is Codec.NONE:
        if len(data) > max_bytes:
            raise PayloadTooLargeError(f"Payload of {len(data)} bytes is over the limit of {max_bytes}")
        return data
    if codec is Codec.GZIP:
        return _decompress_gzip(data, max_bytes)
    if codec is Codec.SNAPPY:
        return decompress_snappy(data, max_bytes)
    if codec is Codec.LZ4:
        return decompress_lz4(data, max_bytes, check_header=magic != 0)
    return _decompress_zstd(data, max_bytes)


def check_claims(codec: Codec, data: Buffer, max_bytes: int) -> None:
    """Check the sizes that a payload claims, which costs little.

    Raises PayloadTooLargeError when it claims more than `max_bytes`, CorruptRecordError when its structure is broken. A
    payload that passes may still be too large.
    """
    if codec is Codec.ZSTD:
        zstd_bounds(data, max_bytes)
    elif codec is Codec.SNAPPY:
        check_snappy_size(data, max_bytes)


def _decompress_gzip(data: Buffer, max_bytes: int) -> bytes:
    """Decompress all members of a gzip stream (RFC 1952). Bytes after the last one are ignored, as in Java."""
    view = memoryview(data)
    pieces: list[bytes] = []
    left = max_bytes
    position = 0
    decoder = zlib.decompressobj(wbits=31)
    while position < len(view):
        # In slices, because the decoder copies its unused input, which would be quadratic with many small members.
        fed = view[position : position + _GZIP_SLICE]
        try:
            # One byte over the limit distinguishes too large an output from one that just fits.
            piece = decoder.decompress(fed, left + 1)
        except zlib.error as error:
            raise CorruptRecordError(f"Broken gzip payload: {error}") from None
        left -= len(piece)
        if left < 0:
            raise PayloadTooLargeError(f"gzip payload decompresses to more than {max_bytes} bytes")
        pieces.append(piece)
        position += len(fed)
        if decoder.eof:
            position -= len(decoder.unused_data)
            if bytes(view[position : position + 2]) != _GZIP_MAGIC:
                return b"".join(pieces)
            decoder = zlib.decompressobj(wbits=31)
    raise CorruptRecordError("gzip payload is cut off")


def _decompress_zstd(data: Buffer, max_bytes: int) -> memoryview:
    bounds = zstd_bounds(data, max_bytes)
    output = output_buffer(min(bounds.most, max_bytes))
    try:
        size = cramjam.zstd.decompress_into(data, output)
    except cramjam.DecompressionError as error:
        if bounds.most <= max_bytes:
            raise CorruptRecordError(f"Broken zstd payload: {error}") from None
        reason = f"zstd payload decompresses to more than {max_bytes} bytes, or is broken: {error}"
        raise PayloadTooLargeError(reason) from None
    return output[:size]
