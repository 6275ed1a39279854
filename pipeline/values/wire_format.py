"""The wire format of schema registries: a zero byte and the schema's id before the encoded value.

    0x00, id (4 bytes, big-endian), value
    0x00, id (4 bytes, big-endian), indexes of the message, value        Protobuf

The indexes lead from the schema's file to a message: the number of the top-level message, then of the message inside
it, and so on. They are a count and as many numbers, all zigzag varints; the single byte 0 means the first message.
"""

from __future__ import annotations

__all__ = ["DecodeError", "split_indexes", "split_schema_id"]

_MAGIC = 0
_HEADER_BYTES = 5
_MOST_VARINT_BYTES = 5
_MOST_INDEXES = 100
"""Protobuf's own parsers allow as many messages inside each other."""


class DecodeError(ValueError):
    """A value can't be decoded. The message is one sentence, without the value."""


def split_schema_id(data: bytes) -> tuple[int, bytes]:
    """Returns the schema's id and the rest. Raises DecodeError."""
    if len(data) < _HEADER_BYTES:
        raise DecodeError(f"the value has {len(data)} bytes, too few for a schema id")
    if data[0] != _MAGIC:
        raise DecodeError(f"the value begins with byte {data[0]}, not with 0 and a schema id")
    return int.from_bytes(data[1:_HEADER_BYTES], "big"), data[_HEADER_BYTES:]


def split_indexes(data: bytes) -> tuple[tuple[int, ...], bytes]:
    """Returns the indexes of a Protobuf message and the rest. Raises DecodeError."""
    count, at = _zigzag(data, 0)
    if count == 0:
        return (0,), data[at:]
    if not 0 < count <= _MOST_INDEXES:
        raise DecodeError(f"the value has {count} indexes of its message, not 1 to {_MOST_INDEXES}")
    indexes = []
    for _ in range(count):
        index, at = _zigzag(data, at)
        indexes.append(index)
    return tuple(indexes), data[at:]


def _zigzag(data: bytes, at: int) -> tuple[int, int]:
    number = 0
    for position, byte in enumerate(data[at : at + _MOST_VARINT_BYTES]):
        number |= (byte & 0x7F) << (7 * position)
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1), at + position + 1
    raise DecodeError("the indexes of the message end early or are too large")
