"""The proxies of a cluster: connections between its members go through here, so that they can be cut.

    broker 1 ──► socket of broker 2 here ──► broker 2         who calls, the first request says: its client id
    broker 1 ──► socket of broker 1's way to ZooKeeper here ──► ZooKeeper

A wire that is cut carries nothing in either direction, and nobody is told: what was on its way, and what is sent from
then on, arrives when the wire is healed, as after a switch failed for a while. A connection that one side ended
meanwhile ends for the other side then.
"""

import asyncio
import re
import struct
from collections import defaultdict
from collections.abc import Awaitable, Callable
from contextlib import suppress

from .ports import HOST

__all__ = ["TcpProxies"]

Name = int | str
_End = tuple[asyncio.StreamReader, asyncio.StreamWriter]
_FindPath = Callable[[asyncio.StreamReader], Awaitable[tuple[asyncio.Event, bytes]]]
"""Which wire a connection goes over (set while it is whole), and what was read of the connection to find out."""

_CHUNK_BYTES = 256 * 1024
_HEAD = struct.Struct(">ihhih")
"""Size, API, version, correlation id, and the size of the client id that follows: the beginning of each request."""
_CALLER = re.compile(rb"(?:broker-)?(\d+)")
"""``broker-1-fetcher-0``, or ``1`` for all but fetchers: the client ids of brokers (Kafka's, too)."""


class TcpProxies:
    """On one event loop. Names are those of brokers, their ids, and ``zookeeper``."""

    def __init__(self) -> None:
        self._servers: list[asyncio.Server] = []
        self._writers: set[asyncio.StreamWriter] = set()
        self._whole: defaultdict[frozenset[Name], asyncio.Event] = defaultdict(_event_that_is_set)

    async def to_broker(self, broker: Name, port: int) -> int:
        """The port by which other brokers reach this one."""

        async def wire(calling: asyncio.StreamReader) -> tuple[asyncio.Event, bytes]:
            caller, begun = await _caller(calling)
            return self._path(caller, broker), begun

        return await self._listen(port, wire)

    async def from_broker(self, broker: Name, other: Name, host: str, port: int) -> int:
        """The port by which one broker reaches another server."""

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
        """Set while the wire is whole."""
        return self._whole[frozenset((one, other))]

    async def _listen(self, port: int, wire: _FindPath, host: str = HOST) -> int:
        async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            self._writers.add(writer)
            try:
                with suppress(OSError, EOFError):  # one side is gone, and so is the other then
                    whole, begun = await wire(reader)
                    await whole.wait()
                    await self._carry((reader, writer), await asyncio.open_connection(host, port), whole, begun)
            finally:
                writer.close()
                self._writers.discard(writer)

        server = await asyncio.start_server(connected, HOST, 0)
        self._servers.append(server)
        chosen: int = server.sockets[0].getsockname()[1]
        return chosen

    async def _carry(self, calling: _End, called: _End, whole: asyncio.Event, begun: bytes) -> None:
        """One connection, to its end."""
        self._writers.add(called[1])
        called[1].write(begun)
        pumps = [
            asyncio.create_task(_pump(calling[0], called[1], whole)),
            asyncio.create_task(_pump(called[0], calling[1], whole)),
        ]
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            called[1].close()
            self._writers.discard(called[1])


def _event_that_is_set() -> asyncio.Event:
    event = asyncio.Event()
    event.set()
    return event


async def _caller(reader: asyncio.StreamReader) -> tuple[int, bytes]:
    """Which broker it is, and what was read to find out. Raises EOFError, ConnectionError."""
    head = await reader.readexactly(_HEAD.size)
    client_id = await reader.readexactly(max(_HEAD.unpack(head)[-1], 0))
    found = _CALLER.match(client_id)
    if found is None:
        raise ConnectionError(f"{client_id!r} is no broker")
    return int(found[1]), head + client_id


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter, whole: asyncio.Event) -> None:
    """Until the source ends. Both ends of the connection end then: brokers and ZooKeeper never close one half."""
    with suppress(OSError):
        while data := await source.read(_CHUNK_BYTES):
            await whole.wait()
            sink.write(data)
            await sink.drain()
    await whole.wait()
