"""Watches all TLS connections of a simulated cluster, and compares the plaintext at both ends of each.

An end receives the bytes that the other end wrote, in order and once. When the other end closed the connection, and the
network did not break it, the end receives all of them before the end of the stream. Other
checkers cannot see this, because a lost response looks like a broken connection to them.
"""

import asyncio
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, cast
from unittest.mock import patch

from pybroker.broker.security.tls.stream import TlsStream
from pybroker.broker.security.tls.transport import TlsTransport
from simulation.checkers.history import History
from simulation.machines.transport import VirtualTransport

__all__ = ["StreamWatch"]


class StreamWatch:
    """Adds violations to ``history``, and counts connections and ends of streams there."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._ends: dict[VirtualTransport, _End] = {}

    @contextmanager
    def at_work(self) -> Iterator[None]:
        """Watch the connections that begin meanwhile."""
        initialize, begin, write = TlsStream.__init__, TlsTransport.connection_made, TlsTransport.writelines

        def initialize_watched(
            stream: TlsStream, protocol: asyncio.BufferedProtocol, *others: Any, **named: Any
        ) -> None:
            initialize(stream, _End(protocol, self), *others, **named)

        def begin_watched(stream: TlsTransport, raw: asyncio.BaseTransport) -> None:
            self._begins(cast("_End", stream._protocol), raw)
            begin(stream, raw)

        def write_watched(stream: TlsTransport, parts: Iterable[bytes | bytearray | memoryview]) -> None:
            whole = b"".join(parts)
            if not stream.is_closing():
                cast("_End", stream._protocol).unreceived += whole
            write(stream, [whole])

        with ExitStack() as stack:
            stack.enter_context(patch.object(TlsStream, "__init__", initialize_watched))
            stack.enter_context(patch.object(TlsTransport, "connection_made", begin_watched))
            stack.enter_context(patch.object(TlsTransport, "writelines", write_watched))
            yield

    def _begins(self, end: "_End", raw: asyncio.BaseTransport) -> None:
        assert isinstance(raw, VirtualTransport)
        self._ends[raw] = end
        end.raw, end.raw_of_peer = raw, raw.peer
        self._history.counts["tls: ends of connections"] += 1

    def received(self, end: "_End", data: bytes) -> None:
        """An end has received plaintext."""
        peer = self._peer_of(end)
        expected = b"" if peer is None else bytes(peer.unreceived[: len(data)])
        if data != expected:
            self._violated(end, f"received {data[:40]!r}…, and {expected[:40]!r}… was written")
        elif peer is not None:
            del peer.unreceived[: len(data)]
            self._history.counts["tls: bytes received"] += len(data)

    def ended(self, end: "_End") -> None:
        """The stream of an end has ended: the other end has closed the connection."""
        peer = self._peer_of(end)
        self._history.counts["tls: ends of streams"] += 1
        if peer is not None and peer.unreceived:
            self._violated(end, f"the stream ended, and {len(peer.unreceived)} bytes before its end are lost")

    def _peer_of(self, end: "_End") -> "_End | None":
        return None if end.raw_of_peer is None else self._ends.get(end.raw_of_peer)

    def _violated(self, end: "_End", what: str) -> None:
        assert end.raw is not None
        self._history.violations.append(f"TLS at {end.raw.host_name} with {end.raw.peer_host.name}: {what}")


class _End(asyncio.BufferedProtocol):
    """Stands between a TLS layer and its protocol. ``unreceived``: what the protocol wrote and the other end has not
    received yet.
    """

    def __init__(self, protocol: asyncio.BufferedProtocol, watch: StreamWatch) -> None:
        self._protocol = protocol
        self._watch = watch
        self._buffer: bytearray | memoryview = bytearray()
        self.unreceived = bytearray()
        self.raw: VirtualTransport | None = None
        self.raw_of_peer: VirtualTransport | None = None

    def get_buffer(self, sizehint: int) -> bytearray | memoryview:
        self._buffer = bytearray()  # the protocol may resize the one before
        self._buffer = cast("bytearray | memoryview", self._protocol.get_buffer(sizehint))
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        data, self._buffer = bytes(self._buffer[:nbytes]), bytearray()
        self._watch.received(self, data)
        self._protocol.buffer_updated(nbytes)

    def eof_received(self) -> bool:
        self._watch.ended(self)
        return bool(self._protocol.eof_received())

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._protocol.connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        self._protocol.resume_writing()
