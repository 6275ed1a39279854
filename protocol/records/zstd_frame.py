"""Bounds of the decompressed size of a zstd payload, from its block headers (RFC 8878 §3.1), before any allocation.

frame: magic 28b52ffd | descriptor | [window: 1] | [dictionary id] | [content size] | blocks … | [checksum: 4]
block: 3 bytes, little endian: last block? (1 bit), type (2), size (21) | bytes
skippable frame: magic 5?2a4d18 | size: 4 | bytes
"""

# A stored block holds its size, a run its length, and a compressed block up to min(window, 128 KiB). This gives a lower
# and an upper bound. They need not be exact, because unused pages of the output buffer cost nothing and the decoder
# checks the rest. A payload whose lower bound exceeds the limit is refused after its first blocks.

from typing import NamedTuple

from ...base.buffer import Buffer
from ..errors import CorruptRecordError
from .output_buffer import PayloadTooLargeError

_FRAME_MAGIC = 0xFD2FB528
_SKIPPABLE_MAGIC = 0x184D2A50
_MAX_BLOCK = 128 * 1024
_CUT_OFF = "zstd payload is cut off"


class Bounds(NamedTuple):
    """The least and the most decompressed bytes of a payload or of one frame."""

    least: int
    most: int


def zstd_bounds(data: Buffer, max_bytes: int) -> Bounds:
    """Return the bounds of all frames of a payload together.

    Raises PayloadTooLargeError when they certainly hold more than `max_bytes`, CorruptRecordError for a broken
    structure.
    """
    view = memoryview(data)
    position = 0
    least = most = 0
    while position < len(view):
        magic = _number(view, position, 4)
        if magic == _FRAME_MAGIC:
            held, position = _frame_bounds(view, position + 4, max_bytes - least)
            least += held.least
            most += held.most
            if least > max_bytes:
                raise PayloadTooLargeError(f"zstd payload decompresses to more than {max_bytes} bytes")
        elif magic & ~0xF == _SKIPPABLE_MAGIC:
            position += 8 + _number(view, position + 4, 4)
        else:
            raise CorruptRecordError("zstd payload does not begin with a frame")
    if position != len(view) or position == 0:
        raise CorruptRecordError(_CUT_OFF)
    return Bounds(least, most)


def _number(view: memoryview, position: int, size: int) -> int:
    if position + size > len(view):
        raise CorruptRecordError(_CUT_OFF)
    return int.from_bytes(view[position : position + size], "little")


def _frame_bounds(view: memoryview, position: int, max_bytes: int) -> tuple[Bounds, int]:
    """Return (bounds, end position) of the frame whose descriptor is at `position`.

    Stops early at a part that holds more than `max_bytes`.
    """
    descriptor = _number(view, position, 1)
    position += 1
    is_single_segment = bool(descriptor & 0x20)
    window = 0
    if not is_single_segment:
        raw_window = _number(view, position, 1)
        position += 1
        base = 1 << 10 + (raw_window >> 3)
        window = base + (base >> 3) * (raw_window & 7)
    position += (0, 1, 2, 4)[descriptor & 3]
    content_size, position = _content_size(view, position, descriptor >> 6, is_single_segment)
    if content_size is not None and content_size > max_bytes:
        return Bounds(content_size, content_size), position
    if is_single_segment:
        window = content_size if content_size is not None else 0
    held, position = _blocks_bounds(view, position, min(window, _MAX_BLOCK), max_bytes)
    if held.least > max_bytes:
        return held, position
    if descriptor & 4:
        position += 4
    if position > len(view):
        raise CorruptRecordError(_CUT_OFF)
    return held if content_size is None else Bounds(held.least, min(held.most, content_size)), position


def _content_size(view: memoryview, position: int, code: int, is_single_segment: bool) -> tuple[int | None, int]:
    if code == 0 and not is_single_segment:
        return None, position
    size = 1 << code
    # The two-byte form begins at 256, because smaller numbers take one byte.
    return _number(view, position, size) + (256 if code == 1 else 0), position + size


def _blocks_bounds(view: memoryview, position: int, max_block: int, max_bytes: int) -> tuple[Bounds, int]:
    least = 0
    compressed = 0
    end = len(view)
    while position + 3 <= end:
        header = view[position] | view[position + 1] << 8 | view[position + 2] << 16
        position += 3
        kind = header >> 1 & 3
        size = header >> 3
        if kind == 0:
            least += size
            position += size
        elif kind == 1:
            least += size
            position += 1
        elif kind == 2:
            compressed += 1
            position += size
        else:
            raise CorruptRecordError("zstd block of a reserved type")
        if header & 1 or least > max_bytes:
            return Bounds(least, least + compressed * max_block), position
    raise CorruptRecordError(_CUT_OFF)
