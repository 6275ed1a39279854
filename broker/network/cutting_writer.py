"""Takes the place of a connection's `ResponseWriter` when a response is to end the connection, for tests of clients.

The connection goes on as before until that response is next; earlier responses are complete, later ones are not sent.
"""

import os
from collections.abc import Callable
from struct import Struct
from typing import Any, NamedTuple

from .request import ReplyPart
from .response_writer import ResponseWriter

__all__ = ["CuttingWriter"]

_SIZE = Struct(">i")


class _Cut(NamedTuple):
    parts: list[ReplyPart]
    after_bytes: int
    end: Callable[[], None]


class CuttingWriter:
    """Has the methods of ``writer``, and passes all calls but `send` on."""

    def __init__(self, writer: ResponseWriter) -> None:
        self._writer = writer
        self._cuts: list[_Cut] = []
        self._is_over = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._writer, name)

    def cut(self, parts: list[ReplyPart], after_bytes: int, end: Callable[[], None]) -> None:
        """When ``parts`` are sent: write so many bytes of their frame, then call ``end``, which closes the connection.

        ``parts`` are known again by their identity.
        """
        self._cuts.append(_Cut(parts, after_bytes, end))

    def send(self, parts: list[ReplyPart]) -> bool:
        """As `ResponseWriter.send`."""
        if self._is_over:
            return False
        for cut in self._cuts:
            if cut.parts is parts:
                self._is_over = True
                self._writer.write_raw(_frame_start(parts, cut.after_bytes))
                cut.end()
                return False
        return self._writer.send(parts)


def _frame_start(parts: list[ReplyPart], size_bytes: int) -> bytes:
    frame_bytes = sum(_size(part) for part in parts)
    start = bytearray(_SIZE.pack(frame_bytes)[:size_bytes])
    for part in parts:
        start += _first_bytes(part, size_bytes - len(start))
    return bytes(start)


def _size(part: ReplyPart) -> int:
    return len(part) if isinstance(part, bytes | bytearray | memoryview) else part.size_bytes


def _first_bytes(part: ReplyPart, size_bytes: int) -> bytes:
    if isinstance(part, bytes | bytearray | memoryview):
        return bytes(part[:size_bytes])
    return os.pread(part.fileno(), min(size_bytes, part.size_bytes), part.position)
