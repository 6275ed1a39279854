"""A client's connection to one broker: it pipelines requests, and matches responses to them in order."""

import asyncio
from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Any

from pybroker.protocol.codec import Message
from support.clients.wire_frames import answer_in, request_frame

__all__ = ["ClientLink", "LateError", "Layer", "UnansweredError"]

Layer = Callable[[asyncio.BufferedProtocol, tuple[str, int]], asyncio.BufferedProtocol]
"""``(connection, address) -> layer``: puts TLS below a connection, which is made when the handshake is complete."""

_SIZE = Struct(">i")
_BUFFER = bytearray(64 * 1024)
"""Bytes on their way from a transport to a connection."""


class UnansweredError(Exception):
    """There was no connection or no response, so the effect of the request is unknown."""


class LateError(UnansweredError):
    """The client gave up a connection without a response: the request may still arrive and take effect."""


class ClientLink:
    """A connection that opens at the first request; a broken one is not reused. `on_unanswered` is called with the
    host.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        host: str,
        port: int,
        client_id: str,
        on_unanswered: Callable[[str], None] = lambda host: None,
        layer: Layer | None = None,
    ) -> None:
        self._loop = loop
        self._on_unanswered = on_unanswered
        self._layer = layer
        self.address = (host, port)
        """The address for the next connection."""
        self._client_id = client_id
        self._protocol: _Answers | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._correlation_id = 0

    async def ask(self, request: Message, version: int, timeout_s: float) -> Any:
        """Returns the response. Raises UnansweredError."""
        try:
            frame = await self._answer(request, version, timeout_s)
        except UnansweredError:
            self._on_unanswered(self.address[0])
            raise
        return answer_in(frame, request, version)

    async def _answer(self, request: Message, version: int, timeout_s: float) -> bytes:
        try:
            async with asyncio.timeout(timeout_s):
                protocol = await self._connected()
                return await protocol.send(self._frame(request, version), self._loop.create_future())
        except TimeoutError:
            self.close()
            raise LateError("no response in time") from None

    async def tell(self, request: Message, version: int, timeout_s: float) -> None:
        """Send a request that has no response. Raises UnansweredError when there is no connection."""
        try:
            async with asyncio.timeout(timeout_s):
                protocol = await self._connected()
        except TimeoutError:
            raise UnansweredError("not connected in time") from None
        protocol.send(self._frame(request, version), None)

    def close(self) -> None:
        protocol, self._protocol = self._protocol, None
        if protocol is not None:
            protocol.abort()

    async def _connected(self) -> "_Answers":
        if self._protocol is None or self._protocol.is_lost:
            if self._connecting is None:
                self._connecting = self._loop.create_task(self._connect())
            await asyncio.shield(self._connecting)
        if self._protocol is None:
            raise UnansweredError("not reached")
        return self._protocol

    async def _connect(self) -> None:
        self._protocol = None
        connection = _Answers(self._loop)
        below = connection if self._layer is None else self._layer(connection, self.address)
        try:
            await self._loop.create_connection(lambda: below, *self.address)
            if await connection.is_made():
                self._protocol = connection
        except OSError:
            pass
        finally:
            self._connecting = None

    def _frame(self, request: Message, version: int) -> bytes:
        self._correlation_id += 1
        return request_frame(request, version, self._correlation_id, self._client_id)


class _Answers(asyncio.BufferedProtocol):
    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.is_lost = False
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._made: asyncio.Future[None] | None = None
        self._asked: deque[asyncio.Future[bytes]] = deque()
        self._received = bytearray()

    async def is_made(self) -> bool:
        """Wait until the connection is made or lost; only a layer makes it later than the network does."""
        if self._transport is None and not self.is_lost:
            self._made = self._loop.create_future()
            await self._made
        return self._transport is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # a layer need not inherit from it
        self._end_making()

    def _end_making(self) -> None:
        if self._made is not None and not self._made.done():
            self._made.set_result(None)

    def send(self, frame: bytes, future: "asyncio.Future[bytes] | None") -> "asyncio.Future[bytes]":
        if self.is_lost or self._transport is None or self._transport.is_closing():
            raise UnansweredError("the connection is lost")
        self._transport.write(frame)
        if future is None:
            future = self._loop.create_future()
        else:
            self._asked.append(future)
        return future

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def get_buffer(self, sizehint: int) -> bytearray:
        return _BUFFER

    def buffer_updated(self, nbytes: int) -> None:
        received = self._received
        received += _BUFFER[:nbytes]
        while len(received) >= 4:
            (size,) = _SIZE.unpack_from(received)
            if len(received) < 4 + size:
                return
            frame = bytes(received[4 : 4 + size])
            del received[: 4 + size]
            future = self._asked.popleft()
            if not future.done():
                future.set_result(frame)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        error = LateError if exc is None else UnansweredError  # without an error, this end closed it
        for future in self._asked:
            if not future.done():
                future.set_exception(error("the connection broke"))
                future.exception()  # the waiting task may be gone
        self._asked.clear()
        self._end_making()
