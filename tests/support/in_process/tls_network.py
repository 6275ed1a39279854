"""TLS for the listeners and peers of tests, with a record of what its connections told their owner."""

import asyncio
import socket

import pytest
from pybroker.broker.network.endpoint_security import EndpointSecurity
from pybroker.broker.network.settings import Endpoint
from pybroker.broker.security.tls.buffers import TlsBuffers
from pybroker.broker.security.tls.handshakes import HandshakeQueue
from pybroker.broker.security.tls.side import TlsSide
from pybroker.broker.security.tls.transport import TlsTransport
from support.in_process.network_peer import Peer
from support.in_process.tls_ends import Events, client_context, server_context

__all__ = ["TlsNetwork"]

DEADLINE_S = 60.0


class TlsNetwork:
    """Made on the running loop. ``events`` has the certificates and the failures of all connections."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        loop = asyncio.get_running_loop()
        self.events = Events()
        self.handshakes = HandshakeQueue(loop.call_soon, loop.time, 512)
        side = TlsSide(
            server_context(),
            self.events,
            loop,
            TlsBuffers(),
            deadline_s=DEADLINE_S,
            handshakes=self.handshakes,
        )

        self.security = EndpointSecurity(add_layer=lambda connection, _authenticated: TlsTransport(connection, side))
        monkeypatch.setattr(Peer, "connect", connect)


async def connect(endpoint: Endpoint, host: str = "127.0.0.1", receive_buffer_bytes: int = -1) -> Peer:
    """`Peer.connect` with the loop's own TLS."""
    plain = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    plain.setblocking(False)
    if receive_buffer_bytes >= 0:
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
    try:
        await asyncio.get_running_loop().sock_connect(plain, (host, endpoint.port))
        streams = await asyncio.open_connection(
            sock=plain, limit=4096, ssl=client_context(), server_hostname="localhost"
        )
    except OSError:
        plain.close()
        raise
    return Peer(*streams)
