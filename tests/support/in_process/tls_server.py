"""A server that echoes over `TlsTransport` on real sockets, and stock clients of it."""

import asyncio
import ssl
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from pybroker.broker.security.tls.buffers import TlsBuffers
from pybroker.broker.security.tls.failures import TlsFailure
from pybroker.broker.security.tls.handshakes import HandshakeQueue
from pybroker.broker.security.tls.side import EncryptedConnection, TlsSide
from pybroker.broker.security.tls.transport import TlsTransport

__all__ = ["EchoServer", "echo_server"]


class _Echo(asyncio.BufferedProtocol):
    """Sends back what comes; reads on when the peer has taken it."""

    def __init__(self, server: "EchoServer") -> None:
        self._server = server

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: TlsTransport = transport  # type: ignore[assignment]
        self._server.open += 1

    def get_buffer(self, sizehint: int) -> bytearray:
        return self._server.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._transport.write(bytes(self._server.buffer[:nbytes]))

    def pause_writing(self) -> None:
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self._transport.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        self._server.open -= 1
        self._server.changed.set()


class EchoServer:
    """``failures`` are those of handshakes and connections."""

    def __init__(self, context: ssl.SSLContext, deadline_s: float) -> None:
        loop = asyncio.get_running_loop()
        self.buffer = bytearray(64 * 1024)
        self.open = 0
        self.established_connections = 0
        self.failures: list[TlsFailure] = []
        self.changed = asyncio.Event()
        self.handshakes = HandshakeQueue(loop.call_soon, loop.time, 64)
        self.side = TlsSide(context, self, loop, TlsBuffers(), deadline_s=deadline_s, handshakes=self.handshakes)
        self.port = 0

    def established(self, connection: EncryptedConnection) -> None:
        self.established_connections += 1

    def failed(self, connection: EncryptedConnection, failure: TlsFailure) -> None:
        self.failures.append(failure)
        self.changed.set()

    def new_connection(self) -> TlsTransport:
        return TlsTransport(_Echo(self), self.side)

    async def wait_for_failure(self) -> TlsFailure:
        while not self.failures:
            self.changed.clear()
            await self.changed.wait()
        return self.failures[0]

    async def wait_until_gone(self) -> None:
        """Wait until no connection is open."""
        while self.open:
            self.changed.clear()
            await self.changed.wait()


@asynccontextmanager
async def echo_server(context: ssl.SSLContext, deadline_s: float = 60) -> AsyncGenerator[EchoServer, None]:
    server = EchoServer(context, deadline_s)
    listening = await asyncio.get_running_loop().create_server(server.new_connection, "127.0.0.1", 0)
    server.port = listening.sockets[0].getsockname()[1]
    try:
        yield server
    finally:
        listening.close()
        await server.wait_until_gone()
