"""Plaintext that waits to be encrypted, cut into pieces of one TLS record.

Small parts of a response share a record, because each record costs 22 bytes and a call. Long parts are not copied.
"""

from collections import deque
from collections.abc import Iterable, Iterator

from .engine import RECORD_BYTES

__all__ = ["Plaintext", "UnsentPlaintext"]

Plaintext = bytes | bytearray | memoryview


class UnsentPlaintext:
    """A queue of bytes. It refers to the parts that were added, so they must not be changed."""

    __slots__ = ("_parts", "size_bytes")

    def __init__(self) -> None:
        self._parts: deque[memoryview] = deque()
        self.size_bytes = 0

    def add(self, parts: Iterable[Plaintext]) -> None:
        for part in parts:
            view = memoryview(part).cast("B")
            if view.nbytes:
                self._parts.append(view)
                self.size_bytes += view.nbytes

    def pieces(self, limit_bytes: int) -> Iterator[Plaintext]:
        """Take up to ``limit_bytes`` bytes out of the queue, in pieces of up to `RECORD_BYTES`."""
        left = min(limit_bytes, self.size_bytes)
        while left > 0:
            piece = self._take(min(left, RECORD_BYTES))
            left -= len(piece)
            yield piece

    def clear(self) -> None:
        self._parts.clear()
        self.size_bytes = 0

    def _take(self, size: int) -> Plaintext:
        parts = self._parts
        self.size_bytes -= size
        if parts[0].nbytes > size:
            first = parts[0]
            parts[0] = first[size:]
            return first[:size]
        if parts[0].nbytes == size:
            return parts.popleft()
        taken = bytearray()
        while len(taken) < size:
            part = parts.popleft()
            missing = size - len(taken)
            if part.nbytes > missing:
                parts.appendleft(part[missing:])
                part = part[:missing]
            taken += part
        return taken
