"""LZ4 frames as Kafka reads and writes them (LZ4 frame format 1.5.1, independent blocks only).

    magic 04224d18 | FLG | BD | [content size: 8] | HC | blocks … | end mark 00000000 | [content checksum: 4]
    block: size: 4, little endian, top bit set when stored plain | bytes | [block checksum: 4]

HC is the second byte of xxHash32 over FLG up to HC. Kafka's clients before KIP-31 hashed the frame's magic as well;
that wrong byte is part of message format 0, so it is written there, and not checked there when reading.
"""

# The frame is read here and cramjam decodes only the blocks. Its own frame reader takes several times as long, accepts
# linked blocks (Kafka refuses them) and cannot ignore a wrong HC. Block and content checksums are skipped, because the
# checksum of the batch covers these bytes.

import struct

import cramjam

from ...base.buffer import Buffer
from ..errors import CorruptRecordError
from .output_buffer import PayloadTooLargeError, output_buffer

_MAGIC = b"\x04\x22\x4d\x18"
_BLOCK_SIZE = 64 * 1024
_BLOCK_SIZE_OF_ID = {4: 64 * 1024, 5: 256 * 1024, 6: 1024 * 1024, 7: 4 * 1024 * 1024}
_STORED_PLAIN = 0x80000000
_DEFAULT_LEVEL = 9
_MAX_RATIO = 255

_size = struct.Struct("<I")


def short_xxhash32(data: bytes) -> int:
    """Return xxHash32 with seed 0 of fewer than 16 bytes, which is enough for a frame header."""
    if len(data) >= 16:
        raise ValueError("Only for fewer than 16 bytes")
    mask = 0xFFFFFFFF
    digest = 374761393 + len(data)
    position = 0
    while position + 4 <= len(data):
        lane = int.from_bytes(data[position : position + 4], "little")
        digest = digest + lane * 3266489917 & mask
        digest = (digest << 17 | digest >> 15) * 668265263 & mask
        position += 4
    for byte in data[position:]:
        digest = digest + byte * 374761393 & mask
        digest = (digest << 11 | digest >> 21) * 2654435761 & mask
    digest = (digest ^ digest >> 15) * 2246822519 & mask
    digest = (digest ^ digest >> 13) * 3266489917 & mask
    return digest ^ digest >> 16


def _header_checksum(descriptor: bytes) -> int:
    return short_xxhash32(descriptor) >> 8 & 0xFF


# Version 1, independent blocks of at most 64 KiB, as Kafka writes them.
_DESCRIPTOR = b"\x60\x40"
_HEADER = _MAGIC + _DESCRIPTOR + bytes((_header_checksum(_DESCRIPTOR),))
_HEADER_WITH_WRONG_CHECKSUM = _MAGIC + _DESCRIPTOR + bytes((_header_checksum(_MAGIC + _DESCRIPTOR),))


def compress_lz4(data: Buffer, level: int | None, wrong_header_checksum: bool) -> bytes:
    """Compress into one frame. `level` None or 9 (Kafka's default) uses the fast compressor, as Kafka does."""
    if level is not None and level != _DEFAULT_LEVEL:
        return _compress_slowly(data, level, wrong_header_checksum)
    view = memoryview(data)
    pieces = [_HEADER_WITH_WRONG_CHECKSUM if wrong_header_checksum else _HEADER]
    for start in range(0, len(view), _BLOCK_SIZE):
        plain = view[start : start + _BLOCK_SIZE]
        block = bytes(cramjam.lz4.compress_block(plain, store_size=False))
        if len(block) < len(plain):
            pieces.append(_size.pack(len(block)))
            pieces.append(block)
        else:
            pieces.append(_size.pack(len(plain) | _STORED_PLAIN))
            pieces.append(bytes(plain))
    pieces.append(b"\0\0\0\0")
    return b"".join(pieces)


def _compress_slowly(data: Buffer, level: int, wrong_header_checksum: bool) -> bytes:
    """Compress with cramjam's frame writer, because its block function ignores the level."""
    # The levels of lz4-java go to 17, those of the C library to 12.
    compressor = cramjam.lz4.Compressor(level=min(level, 12), content_checksum=False, block_linked=False)
    compressor.compress(bytes(data))
    frame = bytearray(compressor.finish())
    if wrong_header_checksum:
        frame[6] = _header_checksum(bytes(frame[:6]))
    return bytes(frame)


def decompress_lz4(data: Buffer, max_bytes: int, check_header: bool) -> memoryview:
    """Return the decompressed bytes of the first frame. Bytes after it are ignored, as in Kafka.

    Raises CorruptRecordError when the frame is broken or holds more than `max_bytes`.
    """
    view = memoryview(data)
    position, max_block, trailer = _read_header(view, check_header)
    bound = _output_bound(view, position, max_block, trailer)
    capacity = min(bound, max_bytes)
    output = output_buffer(capacity)
    filled = 0
    while True:
        (raw_size,) = _size.unpack_from(view, position)
        if raw_size == 0:
            return output[:filled]
        size = raw_size & ~_STORED_PLAIN
        block = view[position + 4 : position + 4 + size]
        if raw_size & _STORED_PLAIN:
            if size > capacity - filled:
                raise PayloadTooLargeError(f"lz4 payload decompresses to more than {max_bytes} bytes")
            output[filled : filled + size] = block
            filled += size
        else:
            try:
                filled += cramjam.lz4.decompress_block_into(block, output[filled : filled + max_block])
            except cramjam.DecompressionError as error:
                if bound <= max_bytes:
                    raise CorruptRecordError(f"Broken lz4 block: {error}") from None
                reason = f"lz4 payload decompresses to more than {max_bytes} bytes, or is broken: {error}"
                raise PayloadTooLargeError(reason) from None
        position += 4 + size + trailer


def _read_header(view: memoryview, check_header: bool) -> tuple[int, int, int]:
    """Return (position of the first block, most bytes of a block, bytes after each block)."""
    if len(view) < 7 or view[:4] != _MAGIC:
        raise CorruptRecordError("lz4 payload does not begin with a frame")
    flags = view[4]
    block_descriptor = view[5]
    max_block = _BLOCK_SIZE_OF_ID.get(block_descriptor >> 4)
    # Version 1, independent blocks, reserved bits and dictionary bit zero.
    if flags & 0xE3 != 0x60 or block_descriptor & 0x8F or max_block is None:
        raise CorruptRecordError(f"lz4 frame with unsupported flags {flags:#x}, {block_descriptor:#x}")
    end = 14 if flags & 0x08 else 6
    if len(view) <= end:
        raise CorruptRecordError("lz4 frame header is cut off")
    if check_header and view[end] != _header_checksum(bytes(view[4:end])):
        raise CorruptRecordError("lz4 frame header fails its checksum")
    return end + 1, max_block, 4 if flags & 0x10 else 0


def _output_bound(view: memoryview, position: int, max_block: int, trailer: int) -> int:
    """Walk the block sizes to the end mark; return an upper bound of the output bytes."""
    bound = 0
    end = len(view)
    while position + 4 <= end:
        (raw_size,) = _size.unpack_from(view, position)
        if raw_size == 0:
            return bound
        size = raw_size & ~_STORED_PLAIN
        if size > max_block:
            raise CorruptRecordError(f"lz4 block of {size} bytes in a frame that allows {max_block}")
        position += 4 + size + trailer
        bound += size if raw_size & _STORED_PLAIN else min(max_block, size * _MAX_RATIO)
    raise CorruptRecordError("lz4 frame is cut off")
