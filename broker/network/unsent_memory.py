"""What answers take whose clients do not read them, and requests that came with others which wait, and wait behind
these (``pybroker.unsent.max.bytes``; Kafka bounds it by its heap).

A connection that is not read from takes no further request, so each holds a few answers and one read's requests at
most; but there may be ten thousand such connections. Over the limit, those go which stand still for longest.
"""

from collections import OrderedDict
from typing import Protocol

__all__ = ["SlowReader", "UnsentMemory"]


class SlowReader(Protocol):
    """A connection, as seen from here."""

    def close_as_slow(self) -> None: ...


class UnsentMemory:
    """The account. Only connections whose socket is full, or whose requests wait, are in it."""

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.used_bytes = 0
        self._readers: OrderedDict[SlowReader, int] = OrderedDict()  # stuck for longest first

    def hold(self, reader: SlowReader, size_bytes: int) -> None:
        """So much is kept for it now; the connections stuck for longest may have to go for that."""
        self.used_bytes += size_bytes - self._readers.get(reader, 0)
        self._readers[reader] = size_bytes
        while self.used_bytes > self.max_bytes and self._readers:
            slowest, held = self._readers.popitem(last=False)
            self.used_bytes -= held
            slowest.close_as_slow()

    def forget(self, reader: SlowReader) -> None:
        """It reads again, or is gone."""
        self.used_bytes -= self._readers.pop(reader, 0)
