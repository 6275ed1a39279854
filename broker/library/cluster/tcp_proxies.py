"""TCP proxies between the members of a cluster, so that connections can be cut.

    broker 1 ──► proxy of broker 2 ──► broker 2         the client id of the first request tells the caller
    broker 1 ──► proxy of broker 1 to ZooKeeper ──► ZooKeeper

A cut path carries no data in either direction, and both sides see an open connection. Delayed data, and the close of a
connection, arrive when the path is healed. With TLS a proxy decrypts and encrypts again, because it must read client
ids; therefore a handshake with the proxy succeeds on a cut path.
"""

import asyncio
import re
import struct
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from .ports import HOST

if TYPE_CHECKING:
    import ssl

__all__ = ["ProxyTls", "TcpProxies"]

Name = int | str
_End = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_FindPath = Callable[[asyncio.StreamReader], Awaitable[tuple[asyncio.Event, bytes]]]
"""The path of a connection (an event that is set while it is not cut), and the bytes read to find it out."""

_CHUNK_BYTES = 256 * 1024
_TLS_GOODBYE_S = 1.0
"""How long the end of a TLS connection waits for its peer, which may be paused."""
_HEAD = struct.Struct(">ihhih")
"""The start of a request: size, API, version, correlation id, and the size of the client id that follows."""
_CALLER = re.compile(rb"(?:broker-)?(\d+)")
"""The client ids of brokers, as in Kafka: ``broker-1-fetcher-0`` for a fetcher, else ``1``."""


class ProxyTls(NamedTuple):
    """The contexts of the two sides of a proxy, when brokers use TLS."""

    to_caller: "ssl.SSLContext"
    to_called: "ssl.SSLContext"


class TcpProxies:
    """Used on one event loop. A name is the id of a broker, or ``zookeeper``. ``tls``: brokers use TLS."""

    def __init__(self, tls: ProxyTls | None = None) -> None:
        self._tls = tls
        self._servers: list[asyncio.Server] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._whole: defaultdict[frozenset[Name], asyncio.Event] = defaultdict(_event_that_is_set)

    async def to_broker(self, broker: Name, port: int) -> int:
        """Open a proxy to ``broker``; returns the port for other brokers."""

        async def wire(calling: asyncio.StreamReader) -> tuple[asyncio.Event, bytes]:
            caller, begun = await _caller(calling)
            return self._path(caller, broker), begun

        return await self._listen(port, wire, tls=self._tls)

    async def from_broker(self, broker: Name, other: Name, host: str, port: int) -> int:
        """Open a proxy from ``broker`` to another server; returns its port."""

        async def wire(_calling: asyncio.StreamReader) -> tuple[asyncio.Event, bytes]:
            return self._path(broker, other), b""

        return await self._listen(port, wire, host)

    async def cut(self, one: Name, other: Name) -> None:
        self._path(one, other).clear()

    async def heal(self, one: Name, other: Name) -> None:
        self._path(one, other).set()

    async def heal_all(self) -> None:
        for whole in self._whole.values():
            whole.set()

    async def close(self) -> None:
        for server in self._servers:
            server.close()
        for writer in self._writers:
            writer.transport.abort()

    def _path(self, one: Name, other: Name) -> asyncio.Event:
        """The event that is set while the path is not cut."""
        return self._whole[frozenset((one, other))]

    async def _listen(self, port: int, wire: _FindPath, host: str = HOST, tls: ProxyTls | None = None) -> int:
        accepting: dict[str, Any] = {}
        calling: dict[str, Any] = {}
        if tls is not None:
            accepting = {"ssl": tls.to_caller, "ssl_shutdown_timeout": _TLS_GOODBYE_S}
            calling = {"ssl": tls.to_called, "server_hostname": host, "ssl_shutdown_timeout": _TLS_GOODBYE_S}

        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writers = [writer]
            self._writers.add(writer)
            try:
                with suppress(OSError, EOFError):  # one side is gone, so the other is closed
                    whole, begun = await wire(reader)
                    await whole.wait()
                    called = await asyncio.open_connection(host, port, **calling)
                    writers.append(called[1])
                    self._writers.add(called[1])
                    called[1].write(begun)
                    await _carry((reader, writer), called, whole)
            finally:
                await self._end(writers)

        server = await asyncio.start_server(connected, HOST, 0, **accepting)
        self._servers.append(server)
        chosen: int = server.sockets[0].getsockname()[1]
        return chosen

    async def _end(self, writers: list[asyncio.StreamWriter]) -> None:
        """Close both sides of a connection. `close` aborts a side whose peer does not let it end."""
        for writer in writers:
            writer.close()
        for writer in writers:
            with suppress(OSError):
                await writer.wait_closed()
            self._writers.discard(writer)


async def _carry(calling: _End, called: _End, whole: asyncio.Event) -> None:
    """Forward one connection until a side ends."""
    pumps = [
        asyncio.create_task(_pump(calling[0], called[1], whole)),
        asyncio.create_task(_pump(called[0], calling[1], whole)),
    ]
    try:
        await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for pump in pumps:
            pump.cancel()


def _event_that_is_set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


async def _caller(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """The id of the calling broker, and the bytes read to find it out. Raises EOFError, ConnectionError."""
    head = await reader.readexactly(_HEAD.size)
    client_id = await reader.readexactly(max(_HEAD.unpack(head)[-1], 0))
    found = _CALLER.match(client_id)
    if found is None:
        raise ConnectionError(f"{client_id!r} is not the client id of a broker")
    return int(found[1]), head + client_id


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, whole: asyncio.Event) -> None:
    """Forward until the source ends. Then both sides end, because brokers and ZooKeeper never close one half only."""
    with suppress(OSError):
        while data := await source.read(_CHUNK_BYTES):
            await whole.wait()
            sink.write(data)
            await sink.drain()
    await whole.wait()
