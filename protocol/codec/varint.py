"""Unsigned varints of flexible versions (KIP-482): seven bits a byte, low bits first, at most five bytes.

The generated code handles varints of one byte itself and calls these functions for longer ones.
"""

from .errors import DecodeError, EncodeError

MAX_UVARINT = 0x7FFFFFFF
"""Kafka reads varints into a Java int. Values that would be negative there are refused."""

ONE_BYTE = tuple(bytes([value]) for value in range(128))


def read_uvarint_tail(buffer: memoryview, position: int, first_byte: int) -> tuple[int, int]:
    """Finish reading a varint whose first byte, over 127, was read at ``position - 1``.

    Returns the value and the position after it. Raises IndexError at the end of the buffer, DecodeError when it is
    too long.
    """
    value = first_byte & 0x7F
    for shift in (7, 14, 21, 28):
        byte = buffer[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > MAX_UVARINT:
                break
            return value, position
    raise DecodeError("varint is too long")


def read_uvarint(buffer: memoryview, position: int) -> tuple[int, int]:
    """Return the value at ``position`` and the position after it. Raises as `read_uvarint_tail` does."""
    first_byte = buffer[position]
    if first_byte < 0x80:
        return first_byte, position + 1
    return read_uvarint_tail(buffer, position + 1, first_byte)


def uvarint(value: int) -> bytes:
    """Return the bytes of ``value``. Raises EncodeError unless it is in 0..2^31-1."""
    if 0 <= value < 0x80:
        return ONE_BYTE[value]
    if not 0 <= value <= MAX_UVARINT:
        raise EncodeError(f"{value} does not fit a varint")
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)
