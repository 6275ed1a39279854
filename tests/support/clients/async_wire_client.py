"""Many raw clients in one asyncio process: each is a connection that sends one request after another."""

import asyncio
import struct
from typing import Any

from pybroker.protocol.codec import Message
from support.clients.wire_frames import WireFrames

__all__ = ["AsyncWireClient"]


class AsyncWireClient:
    """A connection, made by `connect`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._frames = WireFrames()

    @classmethod
    async def connect(cls, bootstrap_servers: str) -> "AsyncWireClient":
        host, _, port = bootstrap_servers.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def ask(self, request: Message, version: int) -> Any:
        """Returns the response to `request` in `version` of its API. Raises IncompleteReadError if the broker closed
        the connection.
        """
        self._writer.write(self._frames.request(request, version))
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        return self._frames.answer(request, version, await self._reader.readexactly(size))

    async def ended(self) -> None:
        """Wait until the broker closes the connection. No request is under way."""
        assert await self._reader.read() == b""

    def close(self) -> None:
        self._writer.close()
