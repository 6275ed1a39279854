"""Checks the arguments of the helpers for tests, and refuses a wrong one with one plain line."""

import math
from collections.abc import Iterable
from typing import Any

from ....protocol.records.record import Headers

__all__ = ["check_count", "check_partition", "check_seconds", "check_text", "data_of", "headers_of", "shown"]

_MOST = 2**63 - 1
_MOST_SECONDS = 86_400 * 366
_LONGEST = 60


def shown(value: object) -> str:
    """The value in words for an error, cut to 60 characters."""
    try:
        text = repr(value)
    except Exception:
        text = f"a value of type {type(value).__name__}"
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "\N{HORIZONTAL ELLIPSIS}"


def check_count(value: Any, name: str) -> None:
    """Raises ValueError unless ``value`` is a whole number from 0."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _MOST:
        raise ValueError(f"{name} is a whole number from 0, not {shown(value)}")


def check_partition(value: Any) -> None:
    """Raises ValueError unless ``value`` is a whole number or None."""
    if value is not None:
        check_count(value, "partition")


def check_seconds(value: Any, name: str) -> None:
    """Raises ValueError unless ``value`` is a number of seconds, up to a year."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 <= value <= _MOST_SECONDS or math.isnan(value):
        raise ValueError(f"{name} is a number of seconds from 0 to {_MOST_SECONDS}, not {shown(value)}")


def check_text(value: Any, name: str) -> None:
    """Raises ValueError unless ``value`` is a text that UTF-8 can store."""
    if not isinstance(value, str):
        raise ValueError(f"{name} is a text, not {shown(value)}")
    _encoded(value, name)


def data_of(value: Any, name: str) -> bytes | None:
    """``value`` as it is stored. Raises ValueError unless it is bytes, a text or None."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return _encoded(value, name)
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise ValueError(f"{name} is bytes, a text or None, not {shown(value)}")


def headers_of(given: Any) -> Headers:
    """The headers of a record. Raises ValueError unless they are pairs of a name and a value."""
    if not isinstance(given, Iterable) or isinstance(given, str | bytes):
        raise ValueError(f"headers are pairs of a name and a value, not {shown(given)}")
    found = []
    for each in given:
        if not isinstance(each, tuple | list) or len(each) != 2:
            raise ValueError(f"a header is a pair of a name and a value, not {shown(each)}")
        check_text(each[0], "the name of a header")
        found.append((each[0], data_of(each[1], "the value of a header")))
    return tuple(found)


def _encoded(text: str, name: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"{name} is a text of whole Unicode characters, not {shown(text)}") from None
