"""The transport below a connection: the calls that the network layer makes of it.

The event loop's transports have these methods. A layer that encrypts stands between such a transport and the
connection, and is itself a `LayerTransport`.
"""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Protocol, TypeAlias

from ..security.principal import Principal

__all__ = ["ConnectionLayer", "LayerTransport", "Transport", "bytes_below", "can_send_files"]


class Transport(Protocol):
    """As `asyncio.Transport` documents them. The network layer sets the high-water mark to 0 and relies on it:
    ``pause_writing`` means that bytes are left over, ``resume_writing`` that none are."""

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """``socket``, ``sockname`` or ``peername`` of the TCP connection; a layer passes the call on."""

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None: ...

    def get_write_buffer_size(self) -> int:
        """All unsent bytes in memory; a layer counts its own and those of the transport below."""

    def write(self, data: bytes | bytearray | memoryview) -> None: ...

    def writelines(self, list_of_data: Iterable[bytes | bytearray | memoryview]) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...

    def is_closing(self) -> bool: ...

    def close(self) -> None:
        """Send what is unsent, then close."""

    def abort(self) -> None: ...


class LayerTransport(Transport, Protocol):
    """A transport that is not the event loop's own."""

    can_send_files: bool
    """Whether bytes written to the socket past the transport reach the peer as they should: never under TLS."""

    def get_read_buffer_size(self) -> int:
        """Bytes received and kept, because the connection is not read."""


ConnectionLayer: TypeAlias = Callable[[asyncio.BufferedProtocol, Callable[[Principal], None]], asyncio.BufferedProtocol]
"""``(connection, authenticated) -> layer``: puts a layer below a new connection, for the event loop.

The layer calls ``connection_made`` at once, because limits on connections count those in the handshake too. It takes no
step of the handshake while reading is paused, so a connection over a limit costs none. It calls ``authenticated``
before the first byte if it knows the client.
"""


def can_send_files(transport: Transport) -> bool:
    """Whether a transport allows `SendfileSender`. The event loop's own do not say; their listener does."""
    allows: bool = getattr(transport, "can_send_files", True)
    return allows


def bytes_below(transport: Transport) -> Callable[[], int] | None:
    """Counts the bytes that a layer has received and keeps; None for the event loop's transport, which keeps none."""
    count: Callable[[], int] | None = getattr(transport, "get_read_buffer_size", None)
    return count
