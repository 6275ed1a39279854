"""Two ends of a TLS connection over transports in memory, which carry bytes only when a test says so."""

import asyncio
import ssl
from pathlib import Path
from typing import Any

from pybroker.broker.security.tls.buffers import TlsBuffers
from pybroker.broker.security.tls.failures import TlsFailure
from pybroker.broker.security.tls.handshakes import HandshakeQueue
from pybroker.broker.security.tls.side import EncryptedConnection, TlsSide
from pybroker.broker.security.tls.transport import TlsTransport
from support.time.virtual_timers import VirtualTimers

__all__ = ["STORES", "App", "Ends", "RawTransport", "client_context", "server_context"]

STORES = Path(__file__).parents[2] / "reference" / "tls"
DEADLINE_S = 10.0


def server_context(store: str = "server", trusted: str = "") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(STORES / f"{store}.pem")
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    if trusted:
        context.load_verify_locations(STORES / f"{trusted}.pem")
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def client_context(store: str = "", trusted: str = "authority") -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(STORES / f"{trusted}.pem")
    if store:
        context.load_cert_chain(STORES / f"{store}.pem")
    return context


class RawTransport:
    """The transport of a socket whose kernel buffer takes ``window`` bytes."""

    def __init__(self, window: int = 1 << 30) -> None:
        self.window = window
        self.sent = bytearray()  # in the kernel, on the way to the peer
        self.backlog = bytearray()
        self.is_read = True
        self.is_aborted = False
        self.is_lost = False
        self.wrote_eof = False
        self.protocol: Any = None
        self._closing = False
        self._told = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high == 0

    def get_write_buffer_size(self) -> int:
        return len(self.backlog)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return "the socket" if name == "socket" else default

    def write(self, data: Any) -> None:
        assert not self._closing
        self.backlog += data
        self._push()
        if self.backlog and not self._told:
            self._told = True
            self.protocol.pause_writing()

    def writelines(self, parts: Any) -> None:
        self.write(b"".join(parts))

    def take(self, most: int = 1 << 30) -> bytes:
        """The peer takes bytes out of the kernel's buffer."""
        taken = bytes(self.sent[:most])
        del self.sent[:most]
        self._push()
        if self._told and not self.backlog:
            self._told = False
            self.protocol.resume_writing()
        return taken

    def _push(self) -> None:
        count = max(0, self.window - len(self.sent))
        self.sent += self.backlog[:count]
        del self.backlog[:count]

    def is_closing(self) -> bool:
        return self._closing

    def pause_reading(self) -> None:
        assert not self._closing
        self.is_read = False

    def resume_reading(self) -> None:
        assert not self._closing
        self.is_read = True

    def close(self) -> None:
        self._closing = True

    def abort(self) -> None:
        self._closing = self.is_aborted = True
        self.backlog.clear()

    def lose(self) -> None:
        """The call that follows a close."""
        if not self.is_lost:
            self.is_lost = True
            self.protocol.connection_lost(None)


class App(asyncio.BufferedProtocol):
    """The protocol on top of TLS: remembers what it is told."""

    def __init__(self, buffer_size: int = 64 * 1024, *, keeps_open: bool = False) -> None:
        self.buffer = bytearray(buffer_size)
        self.received = bytearray()
        self.calls: list[str] = []
        self.keeps_open = keeps_open
        self.pause_after: int | None = None
        self.transport: Any = None
        self.is_backlogged = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.calls.append("made")

    def get_buffer(self, sizehint: int) -> bytearray:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.received += self.buffer[:nbytes]
        if self.pause_after is not None and len(self.received) >= self.pause_after:
            self.pause_after = None
            self.transport.pause_reading()

    def eof_received(self) -> bool:
        self.calls.append("eof")
        return self.keeps_open

    def pause_writing(self) -> None:
        assert not self.is_backlogged
        self.is_backlogged = True

    def resume_writing(self) -> None:
        assert self.is_backlogged
        self.is_backlogged = False

    def connection_lost(self, exc: Exception | None) -> None:
        self.calls.append("lost")


class Events:
    """Remembers how handshakes ended."""

    def __init__(self) -> None:
        self.certificates: list[bytes | None] = []
        self.failures: list[TlsFailure] = []

    def established(self, connection: EncryptedConnection) -> None:
        self.certificates.append(connection.peer_certificate)

    def failed(self, connection: EncryptedConnection, failure: TlsFailure) -> None:
        self.failures.append(failure)


class End:
    """One side: the protocol, its TLS transport, and the raw one."""

    def __init__(self, side: TlsSide, app: App, raw: RawTransport, events: Events, loop: VirtualTimers) -> None:
        self.app = app
        self.raw = raw
        self.events = events
        self._loop = loop
        self.tls = TlsTransport(app, side)
        raw.protocol = self.tls
        self.tls.connection_made(raw)  # type: ignore[arg-type]

    def receive(self, data: bytes, piece: int = 1 << 30) -> None:
        """Deliver bytes of the network, as a loop does: while the transport is read, in the buffer that it gives."""
        position = 0
        while position < len(data) and self.raw.is_read and not self.raw.is_closing():
            buffer = self.tls.get_buffer(-1)
            count = min(piece, len(buffer), len(data) - position)
            buffer[:count] = data[position : position + count]
            position += count
            self.tls.buffer_updated(count)
            self._turn_if_paused()
        assert position == len(data) or self.raw.is_closing(), "the test sent more than the transport reads"

    def _turn_if_paused(self) -> None:
        if not self.raw.is_read:  # perhaps the handshake waits for the next iteration
            self._loop.turn()

    @property
    def causes(self) -> list[str]:
        return [failure.cause.name for failure in self.events.failures]


class Ends:
    """A client and a server. ``piece``: bytes that one read of a socket brings at most."""

    def __init__(
        self,
        server: ssl.SSLContext | None = None,
        client: ssl.SSLContext | None = None,
        *,
        piece: int = 1 << 30,
        window: int = 1 << 30,
        hostname: str = "localhost",
        server_app: App | None = None,
        client_app: App | None = None,
        most_unanswered: int = 64,
    ) -> None:
        self.loop = VirtualTimers()
        self.piece = piece
        buffers = TlsBuffers()  # of both ends, as they are on one loop
        self.handshakes = HandshakeQueue(self.loop.call_soon, self.loop.time, most_unanswered)
        events = Events()
        side = TlsSide(
            server or server_context(), events, self.loop, buffers, deadline_s=DEADLINE_S, handshakes=self.handshakes
        )
        self.server = End(side, server_app or App(), RawTransport(window), events, self.loop)
        events = Events()
        side = TlsSide(
            client or client_context(), events, self.loop, buffers, deadline_s=DEADLINE_S, server_hostname=hostname
        )
        self.client = End(side, client_app or App(), RawTransport(window), events, self.loop)

    def carry(self) -> None:
        """Carry bytes both ways and run the loop until nothing moves."""
        idle_rounds = 0
        while idle_rounds < 3:
            idle_rounds = 0 if self._carry_once() else idle_rounds + 1

    def _carry_once(self) -> bool:
        has_moved = False
        self.loop.turn()
        for source, target in ((self.client, self.server), (self.server, self.client)):
            while source.raw.sent and target.raw.is_read and not target.raw.is_closing():
                # As much as one read takes: the transport may pause reading then.
                target.receive(source.raw.take(min(self.piece, len(target.tls.get_buffer(-1)))))
                has_moved = True
        return has_moved

    def end_stream(self, source: End, target: End) -> bool:
        """The source's socket has sent everything and a FIN. Whether the target stays open."""
        self.carry()
        stays = bool(target.tls.eof_received())
        if not stays and not target.raw.is_closing():
            target.raw.close()
        return stays

    def lose(self) -> None:
        for end in (self.client, self.server):
            if end.raw.is_closing():
                end.raw.lose()
