"""Many raw clients in one asyncio process: each is a connection that sends one request after another."""

import asyncio
import struct
from collections import deque
from typing import Any

from pybroker.protocol.codec import Message
from support.clients.wire_frames import answer_in, request_frame

__all__ = ["AsyncWireClient"]


class AsyncWireClient:
    """A connection, made by `connect`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._correlation_id = 0
        self._sent: deque[tuple[Message, int, int]] = deque()
        self.earlier: list[Any] = []
        """The responses to requests of `send`, in order, once a later `ask` has returned."""

    @classmethod
    async def connect(cls, bootstrap_servers: str) -> "AsyncWireClient":
        host, _, port = bootstrap_servers.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def ask(self, request: Message, version: int) -> Any:
        """Returns the response to `request` in `version` of its API. Raises IncompleteReadError if the broker closed
        the connection.
        """
        self.send(request, version)
        while len(self._sent) > 1:
            self.earlier.append(await self._receive())
        return await self._receive()

    def send(self, request: Message, version: int) -> None:
        """Sends a request; the next `ask` reads its response."""
        self._correlation_id += 1
        self._writer.write(request_frame(request, version, self._correlation_id, "wire"))
        self._sent.append((request, version, self._correlation_id))

    async def _receive(self) -> Any:
        request, version, correlation_id = self._sent.popleft()
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        frame = await self._reader.readexactly(size)
        assert struct.unpack_from(">i", frame)[0] == correlation_id
        return answer_in(frame, request, version)

    async def ended(self) -> None:
        """Wait until the broker closes the connection. No request is under way."""
        assert await self._reader.read() == b""

    def close(self) -> None:
        self._writer.close()
