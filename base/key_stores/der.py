"""Reads DER, the encoding of certificates and key stores: a tag, a length, and the content."""

from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["BOOLEAN", "CONTEXT", "OCTET_STRING", "OID", "SEQUENCE", "SET", "Der", "DerError", "children",
           "oid_text", "only"]  # fmt: skip

BOOLEAN = 0x01
OCTET_STRING = 0x04
OID = 0x06
SEQUENCE = 0x30
SET = 0x31
CONTEXT = 0xA0
"""The first constructed tag of a kind that depends on its place: ``[0]``; ``[3]`` is ``CONTEXT + 3``."""


class DerError(ValueError):
    """The bytes are not DER."""


class Der(NamedTuple):
    """One value. ``encoded`` is the whole of it, ``content`` is what follows the length."""

    tag: int
    content: bytes
    encoded: bytes


def children(data: bytes) -> Iterator[Der]:
    """The values in ``data``, one after the other."""
    position = 0
    while position < len(data):
        value = _value_at(data, position)
        position += len(value.encoded)
        yield value


def only(data: bytes, tag: int) -> Der:
    """The one value that ``data`` consists of. Raises DerError if there are more, or it has another tag."""
    value = _value_at(data, 0)
    if value.tag != tag or len(value.encoded) != len(data):
        raise DerError(f"one value with the tag {tag:#x} is expected")
    return value


def oid_text(content: bytes) -> str:
    """An object identifier with dots, as ``2.5.4.3``."""
    numbers: list[int] = []
    number = 0
    for byte in content:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    if not numbers or content[-1] >= 0x80:
        raise DerError("an object identifier ends too early")
    first = min(numbers[0] // 40, 2)
    return ".".join(map(str, (first, numbers[0] - 40 * first, *numbers[1:])))


def _value_at(data: bytes, position: int) -> Der:
    if len(data) - position < 2:
        raise DerError("a value ends too early")
    tag, length = data[position], data[position + 1]
    if tag & 0x1F == 0x1F:
        raise DerError("tags of several bytes are not used here")
    start = position + 2
    if length >= 0x80:
        length_bytes = length & 0x7F
        if not 1 <= length_bytes <= 4:
            raise DerError(f"a length of {length_bytes} bytes")
        length = int.from_bytes(data[start : start + length_bytes], "big")
        start += length_bytes
    end = start + length
    if end > len(data):
        raise DerError("a value is longer than what is left")
    return Der(tag, data[start:end], data[position:end])
