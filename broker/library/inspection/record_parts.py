"""The parts of a record that a test appends, checked. A wrong one is refused with one plain line."""

from collections.abc import Iterable
from typing import Any

from ....protocol.records.record import Headers
from ...faults.words import WordError, shown, utf8

__all__ = ["data_of", "headers_of"]


def data_of(value: Any, name: str) -> bytes | None:
    """``value`` as it is stored. Raises ValueError unless it is bytes, a text or None."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return utf8(value, name)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise WordError(name, "bytes, a text or None", value)


def headers_of(given: Any) -> Headers:
    """The headers of a record. Raises ValueError unless they are pairs of a name and a value."""
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise ValueError(f"headers are pairs of a name and a value, not {shown(given)}")
    found = []
    for each in given:
        if not isinstance(each, tuple | list) or len(each) != 2:
            raise WordError("a header", "a pair of a name and a value", each)
        utf8(each[0], "the name of a header")
        found.append((each[0], data_of(each[1], "the value of a header")))
    return tuple(found)
