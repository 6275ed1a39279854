"""Zigzag varints of record format v2 (those of Protocol Buffers): 7 bits a byte, low bits first, at most 32 or 64 bits.

The record walks read varints of one and two bytes in place (see walk.py) and call these functions for longer ones.
"""

from ..errors import InvalidRecordError


def read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Returns (value, end position) of the zigzag varint of 32 bits at `position`.

    Raises InvalidRecordError when it is cut off or holds more than 32 bits.
    """
    raw, position = read_unsigned(data, position, 32)
    return (raw >> 1) ^ -(raw & 1), position


def read_size(data: bytes, position: int) -> tuple[int, int]:
    """Like `read_varint`, fast for a single byte. Raises IndexError at the end of `data`."""
    raw = data[position]
    if raw < 0x80:
        return (raw >> 1) ^ -(raw & 1), position + 1
    return read_varint(data, position)


def read_unsigned(data: bytes, position: int, bits: int) -> tuple[int, int]:
    """Return (raw bits without undoing zigzag, end position). Raises InvalidRecordError as `read_varint` does."""
    raw = 0
    shift = 0
    end = len(data)
    while position < end:
        byte = data[position]
        position += 1
        raw |= (byte & 0x7F) << shift
        if byte < 0x80:
            if raw >> bits:
                raise InvalidRecordError(f"Varint at {position - 1} holds more than {bits} bits")
            return raw, position
        shift += 7
        if shift >= bits:
            raise InvalidRecordError(f"Varint at {position - 1} is longer than {bits} bits allow")
    raise InvalidRecordError(f"Varint at {position} is cut off")


def encode_unsigned(raw: int) -> bytes:
    """Encodes a number >= 0, seven bits a byte."""
    if raw < 0x80:
        return ONE_BYTE[raw]
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


ONE_BYTE = tuple(bytes((value,)) for value in range(0x80))
