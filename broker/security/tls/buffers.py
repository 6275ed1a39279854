"""The buffers of TLS that all connections of one event loop share, so that an idle connection has none.

**Why.** OpenSSL keeps the buffer of an `ssl.MemoryBIO` as large as the largest content it had. With two of them for
each connection, every long message would leave 43 KiB behind.
**How.** A connection uses these buffers while the loop handles it. Bytes may be left there, because reading was paused
or another connection is written to in between. They move to their connection when another one needs the buffers.
"""

import ssl
from typing import Protocol

__all__ = ["CIPHERTEXT_BYTES", "BufferUser", "TlsBuffers"]

CIPHERTEXT_BYTES = 64 * 1024
"""Ciphertext that one read of a socket takes at most. A connection whose reading is paused keeps so much at most."""


class BufferUser(Protocol):
    """A `TlsEngine`."""

    def leave_buffers(self) -> None:
        """Take out what is yours: another connection needs the buffers."""


class TlsBuffers:
    """``ciphertext`` is where sockets are read. ``user`` is the connection whose bytes may be in the two others."""

    __slots__ = ("ciphertext", "incoming", "outgoing", "user")

    def __init__(self) -> None:
        self.ciphertext = memoryview(bytearray(CIPHERTEXT_BYTES))
        self.incoming = ssl.MemoryBIO()
        self.outgoing = ssl.MemoryBIO()
        self.user: BufferUser | None = None
