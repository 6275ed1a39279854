"""TLS below this broker's links to one listener of other brokers."""

import asyncio
import ssl
from collections.abc import Callable

from .buffers import TlsBuffers
from .engine import TlsEngine
from .failures import TlsFailure
from .side import EncryptedConnection, TlsSide
from .transport import TlsTransport

__all__ = ["link_layer"]


class _Quiet:
    """The link logs its failures itself: `TlsTransport` passes them on with ``connection_lost``."""

    def established(self, connection: EncryptedConnection) -> None: ...

    def failed(self, connection: EncryptedConnection, failure: TlsFailure) -> None: ...


_QUIET = _Quiet()


def link_layer(
    context: Callable[[], ssl.SSLContext], loop: asyncio.AbstractEventLoop, buffers: TlsBuffers, deadline_s: float
) -> Callable[[asyncio.BufferedProtocol, tuple[str, int]], asyncio.BufferedProtocol]:
    """``(protocol, (host, port)) -> layer``; raises ConnectionError if no certificate can be for the host.

    ``context`` gives the present one. If it checks names, the server's certificate must be for the host.
    """

    def add_layer(protocol: asyncio.BufferedProtocol, address: tuple[str, int]) -> asyncio.BufferedProtocol:
        host = address[0]
        side = TlsSide(context(), _QUIET, loop, buffers, deadline_s=deadline_s, server_hostname=host)
        try:
            TlsEngine(side.context, buffers, server_side=False, server_hostname=host)  # some host names are too long
        except ValueError as error:
            raise ConnectionError(f"no TLS connection to {host}: {error}") from None
        return TlsTransport(protocol, side)

    return add_layer
