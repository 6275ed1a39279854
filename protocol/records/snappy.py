"""Snappy in the block framing of snappy-java ("xerial"), which is what Kafka calls snappy.

    82 53 4e 41 50 50 59 00 | version: 4 | lowest compatible version: 4 | chunks …
    chunk: size: 4, big endian | raw snappy

A payload without that header is one raw snappy block: some old clients produce it, and snappy-java reads it. A second
header between chunks (concatenated streams) is skipped, as snappy-java does.
"""

import struct

import cramjam

from ...base.buffer import Buffer
from ..errors import CorruptRecordError
from .output_buffer import PayloadTooLargeError, output_buffer

_MAGIC = b"\x82SNAPPY\x00"
_HEADER = _MAGIC + b"\0\0\0\1\0\0\0\1"
_HEADER_SIZE = len(_HEADER)
_CHUNK_SIZE = 32 * 1024
_FIRST_FOUR = int.from_bytes(_MAGIC[:4], "big")
# Snappy's densest element is a copy: 3 bytes for 64.
_MAX_RATIO = 22

_size = struct.Struct(">I")


def compress_snappy(data: Buffer) -> bytes:
    """Compress into chunks of 32 KiB after the header, as snappy-java does."""
    view = memoryview(data)
    pieces = [_HEADER]
    for start in range(0, len(view), _CHUNK_SIZE):
        chunk = bytes(cramjam.snappy.compress_raw(view[start : start + _CHUNK_SIZE]))
        pieces.append(_size.pack(len(chunk)))
        pieces.append(chunk)
    return b"".join(pieces)


def decompress_snappy(data: Buffer, max_bytes: int) -> memoryview:
    """Decompress. Raises CorruptRecordError when the payload is broken or holds more than `max_bytes`."""
    view = memoryview(data)
    if _is_raw(view):
        size = _plain_size(view)
        _check_limit(size, max_bytes)
        output = output_buffer(size)
        _decompress_raw(view, output)
        return output
    output = output_buffer(_total_size(view, max_bytes))
    filled = 0
    position = _HEADER_SIZE
    while position + 4 <= len(view):
        (size,) = _size.unpack_from(view, position)
        if size == _FIRST_FOUR:
            position += _HEADER_SIZE
            continue
        filled += _decompress_raw(view[position + 4 : position + 4 + size], output[filled:])
        position += 4 + size
    return output[:filled]


def check_snappy_size(data: Buffer, max_bytes: int) -> None:
    """Raise PayloadTooLargeError when the chunks claim too many bytes, CorruptRecordError when they are broken."""
    view = memoryview(data)
    if _is_raw(view):
        _check_limit(_plain_size(view), max_bytes)
    else:
        _total_size(view, max_bytes)


def _is_raw(view: memoryview) -> bool:
    return view[:8] != _MAGIC or len(view) < _HEADER_SIZE


def _total_size(view: memoryview, max_bytes: int) -> int:
    """Check the framing of every chunk; return the sum of their decompressed sizes."""
    total = 0
    end = len(view)
    position = _HEADER_SIZE
    while position + 4 <= end:
        (size,) = _size.unpack_from(view, position)
        if size == _FIRST_FOUR:
            if view[position : position + 8] != _MAGIC or position + _HEADER_SIZE > end:
                raise CorruptRecordError("snappy payload has a broken header between its chunks")
            position += _HEADER_SIZE
            continue
        position += 4
        if size > end - position:
            raise CorruptRecordError(f"snappy chunk of {size} bytes, of which {end - position} are there")
        total += _plain_size(view[position : position + size])
        _check_limit(total, max_bytes)
        position += size
    return total


def _plain_size(raw: memoryview) -> int:
    """Return the decompressed size that a raw snappy block claims, after a check that it is possible."""
    try:
        size: int = cramjam.snappy.decompress_raw_len(raw)
    except cramjam.DecompressionError as error:
        raise CorruptRecordError(f"Broken snappy payload: {error}") from None
    if size > len(raw) * _MAX_RATIO:
        raise CorruptRecordError(f"snappy chunk of {len(raw)} bytes cannot hold {size}")
    return size


def _check_limit(size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise PayloadTooLargeError(f"snappy payload decompresses to more than {max_bytes} bytes")


def _decompress_raw(raw: memoryview, output: memoryview) -> int:
    try:
        size: int = cramjam.snappy.decompress_raw_into(raw, output)
    except cramjam.DecompressionError as error:
        raise CorruptRecordError(f"Broken snappy payload: {error}") from None
    return size
