"""Bytes of records on a terminal: control characters are shown as escapes, so that no record can command it."""

from collections.abc import Callable

from ...base.printable import printable

__all__ = ["Shown", "as_is", "for_terminal"]

Shown = Callable[[bytes], bytes]


def as_is(data: bytes) -> bytes:
    """For files, pipes and programs."""
    return data


def for_terminal(data: bytes) -> bytes:
    """Text without control characters, in UTF-8; other bytes are escaped too."""
    return printable(data.decode("utf-8", "backslashreplace")).encode()
