"""Codecs of record sets: compress, and decompress within a bound.

A compressed payload is hostile: a few kilobytes can claim gigabytes. Each decoder here is told how much it may produce
(`max_bytes`), finds an upper bound on the output from the frames' own structure before it allocates, and never holds
more than the smaller of the two (pages of a buffer that the decoder does not reach are not touched). Whatever is wrong
with the payload, the outcome is `CorruptRecordError`.

gzip goes through zlib, whose decoder takes an output limit; the others through cramjam, with the framing read here:
(snappy.py, lz4.py, zstd_frame.py).
"""

import zlib
from enum import IntEnum

import cramjam

from ..errors import CorruptRecordError, UnsupportedCompressionTypeError
from .crc import Buffer
from .lz4 import compress_lz4, decompress_lz4
from .output_buffer import PayloadTooLargeError, output_buffer
from .snappy import check_snappy_size, compress_snappy, decompress_snappy
from .zstd_frame import zstd_bounds

DEFAULT_MAX_DECOMPRESSED_BYTES = 256 * 1024 * 1024
"""What readers of a batch allow by default (bytes). Kafka itself has no bound."""


class Codec(IntEnum):
    """Kafka's CompressionType; the value is the low three bits of the attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


CODEC_OF_ID: tuple[Codec | None, ...] = (*Codec, None, None, None)
"""Codec by the three attribute bits; None where Kafka has not assigned one."""

_GZIP_MAGIC = b"\x1f\x8b"
_GZIP_SLICE = 16 * 1024


def codec_of(attributes: int) -> Codec:
    """Codec in the low bits of attributes. Raises UnsupportedCompressionTypeError for one that Kafka does not have."""
    codec = CODEC_OF_ID[attributes & 7]
    if codec is None:
        raise UnsupportedCompressionTypeError(f"Unknown compression type {attributes & 7}")
    return codec


def compress(codec: Codec, data: Buffer, level: int | None = None, magic: int = 2) -> bytes:
    """Compresses a payload. `level` None is Kafka's default; `magic` 0 has lz4 write Kafka's old wrong checksum."""
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
    """Decompresses a payload of records. `magic` 0 has lz4 accept any header checksum, as Kafka does.

    Raises CorruptRecordError when the payload is broken, PayloadTooLargeError (which is one, too) when it holds more
    than `max_bytes`.
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
    """Raises PayloadTooLargeError when the structure of a payload alone says that it holds more than `max_bytes`, and
    CorruptRecordError when it is broken. Costs little, whatever it holds; that it passes says nothing."""
    if codec is Codec.ZSTD:
        zstd_bounds(data, max_bytes)
    elif codec is Codec.SNAPPY:
        check_snappy_size(data, max_bytes)


def _decompress_gzip(data: Buffer, max_bytes: int) -> bytes:
    """All members of a gzip stream (RFC 1952). Bytes behind the last are ignored, as by Java's GZIPInputStream."""
    view = memoryview(data)
    pieces: list[bytes] = []
    room = max_bytes
    position = 0
    decoder = zlib.decompressobj(wbits=31)
    while position < len(view):
        # In slices, as the decoder copies what it leaves of its input: with many small members that would be quadratic.
        fed = view[position : position + _GZIP_SLICE]
        try:
            # One byte over the limit tells an output that is too big from one that just fits.
            piece = decoder.decompress(fed, room + 1)
        except zlib.error as error:
            raise CorruptRecordError(f"Broken gzip payload: {error}") from None
        room -= len(piece)
        if room < 0:
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
