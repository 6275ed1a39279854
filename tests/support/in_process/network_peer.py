"""Both ends of the network layer for tests: a handler controlled by the test, and a client that sends frames."""

import asyncio
import contextlib
import inspect
import logging
import random
import socket
import struct
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pybroker.broker.network.endpoint_security import UNPROTECTED, EndpointSecurity
from pybroker.broker.network.listener import Listeners
from pybroker.broker.network.request import CloseConnectionError, LaterReply, Reply, ReplyPart, Request
from pybroker.broker.network.request_timer import RequestTimer
from pybroker.broker.network.settings import Endpoint, NetworkSettings
from support.time.patience import HANGS_AFTER_S

ECHO = 3
"""API keys, as ``ScriptedHandler`` understands them. This one answers at once with the request's body."""
PRODUCE = 0
"""Answered when the test calls `answer`; counts as memory until then."""
LATER = 4
"""Answered when the test calls `answer`."""
REGIONS = 1
"""Answered with ``ScriptedHandler.regions``, after ``ScriptedHandler.work``."""
COROUTINE = 5
"""Answered by a coroutine, after one loop iteration."""
SILENT = 6
"""Not answered."""
FAIL = 7
"""The handler raises."""
CLOSE = 8
"""The handler asks to close the connection."""
STUCK = 9
"""Answered by a coroutine that never ends on its own."""
WORK = 10
"""Answered by a coroutine that does ``ScriptedHandler.work`` in each of ``ScriptedHandler.steps`` behind its first."""
JOIN = 11
"""JoinGroup, answered when the test says so."""
VERSIONS = 18
"""ApiVersions, answered like ECHO; connections begin with it, because a first request of other APIs may have to
wait.
"""
UNKNOWN = 999


@dataclass(slots=True)
class Stretch:
    """A region of a file that the test keeps open."""

    fd: int
    position: int
    size_bytes: int

    def fileno(self) -> int:
        return self.fd


class ScriptedHandler:
    """Records requests, and answers them by API key."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.later: dict[int, asyncio.Future[list[ReplyPart] | None]] = {}
        self.regions: list[ReplyPart] = []
        self.began = 0
        self.stuck_ended = False
        self.work: Callable[[], None] = lambda: None
        self.steps = 1
        self._waiting: list[tuple[int, asyncio.Future[None]]] = []

    def __call__(self, request: Request) -> Reply:
        self.requests.append(request)
        for count, future in self._waiting:
            if len(self.requests) >= count and not future.done():
                future.set_result(None)
        correlation = struct.pack(">i", request.correlation_id)
        match request.api_key:
            case 0 | 4 | 11:
                if request.api_key == JOIN:
                    request.abandon = lambda: None
                future = self.later[request.correlation_id] = asyncio.get_running_loop().create_future()
                return LaterReply(future, future.result)
            case 1:
                self.work()
                return [correlation, *self.regions]
            case 5:
                return self._coroutine(correlation, request.body)
            case 6:
                return None
            case 7:
                raise ValueError("as the test wants")
            case 8:
                raise CloseConnectionError("as the test wants")
            case 9:
                return self._stuck()
            case 10:
                return self._work(correlation)
        return [correlation, request.body]

    async def _coroutine(self, correlation: bytes, body: memoryview) -> list[ReplyPart] | None:
        self.began = len(self.requests)
        await asyncio.sleep(0)
        return [correlation, body]

    async def _work(self, correlation: bytes) -> list[ReplyPart] | None:
        for _ in range(self.steps):
            await asyncio.sleep(0)
            self.work()
        return [correlation]

    async def _stuck(self) -> list[ReplyPart] | None:
        never: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        try:
            await never
            return None
        finally:
            self.stuck_ended = True

    def answer(self, correlation_id: int, *parts: ReplyPart) -> None:
        """Answer a request of LATER, PRODUCE or JOIN."""
        self.later.pop(correlation_id).set_result([struct.pack(">i", correlation_id), *parts])

    async def has_started(self, count: int) -> None:
        """Wait until the handler got this many requests."""
        if len(self.requests) < count:
            future = asyncio.get_running_loop().create_future()
            self._waiting.append((count, future))
            await future

    @property
    def started(self) -> list[int]:
        return [request.correlation_id for request in self.requests]

    def started_of(self, api_key: int) -> list[int]:
        return [request.correlation_id for request in self.requests if request.api_key == api_key]


def frame(api_key: int, correlation_id: int, body: bytes = b"", client_id: bytes | None = b"test") -> bytes:
    """A complete request with a header of version 1."""
    name = struct.pack(">h", -1) if client_id is None else struct.pack(">h", len(client_id)) + client_id
    content = struct.pack(">hhi", api_key, 0, correlation_id) + name + body
    return struct.pack(">i", len(content)) + content


class Peer:
    """A client: sends bytes, reads frames."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, endpoint: Endpoint, host: str = "127.0.0.1", receive_buffer_bytes: int = -1) -> "Peer":
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        peer = socket.socket(family, socket.SOCK_STREAM)
        peer.setblocking(False)
        if receive_buffer_bytes >= 0:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer_bytes)
        try:
            await asyncio.get_running_loop().sock_connect(peer, (host, endpoint.port))
        except OSError:
            peer.close()
            raise
        # A small limit: an unread answer stays in the kernel's buffers, not in ours.
        return cls(*await asyncio.open_connection(sock=peer, limit=4096))

    def send(self, *frames: bytes) -> None:
        self.writer.write(b"".join(frames))

    async def answer(self) -> tuple[int, bytes]:
        """The next response: correlation id and body."""
        (size,) = struct.unpack(">i", await self.reader.readexactly(4))
        content = await self.reader.readexactly(size)
        return struct.unpack(">i", content[:4])[0], content[4:]

    async def answers(self, count: int) -> list[int]:
        """The correlation ids of the next responses."""
        return [(await self.answer())[0] for _ in range(count)]

    async def is_closed(self) -> bool:
        """Wait for the end of the connection; returns whether it came without data."""
        try:
            return await self.reader.read() == b""
        except ConnectionError:
            return True

    async def close(self) -> None:
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


class Server:
    """Listeners with a scripted handler, and one endpoint on a free port of 127.0.0.1."""

    def __init__(self, listeners: Listeners, handler: ScriptedHandler, endpoint: Endpoint) -> None:
        self.listeners = listeners
        self.handler = handler
        self.endpoint = endpoint
        self._peers: list[Peer] = []

    async def connect(self, host: str = "127.0.0.1", receive_buffer_bytes: int = -1) -> Peer:
        peer = await Peer.connect(self.endpoint, host, receive_buffer_bytes)
        self._peers.append(peer)
        return peer

    async def settle(self) -> None:
        """Serve complete requests of another client, so that wrong actions of the server would have happened by
        then.
        """
        peer = await self.connect()
        for number in range(5):
            peer.send(frame(VERSIONS, 1_000_000 + number))
            await peer.answer()
        bystander = self.handler.requests[-1].connection
        await peer.close()
        await until(lambda: all(connection.info is not bystander for connection in self.listeners.connections()))
        self.handler.requests = [r for r in self.handler.requests if r.correlation_id < 1_000_000]

    async def close(self) -> None:
        for peer in self._peers:
            await peer.close()
        await self.listeners.close(0)


@contextlib.asynccontextmanager
async def serving(
    settings: NetworkSettings | None = None,
    host: str = "127.0.0.1",
    port: int = 0,
    security_protocol: str = "PLAINTEXT",
    security: EndpointSecurity = UNPROTECTED,
    timer: RequestTimer | None = None,
    **options: Any,
) -> AsyncIterator[Server]:
    """A server for the block. Every API key except UNKNOWN has a header of version 1.

    Its clock of CPU time stands still, so garbage collection makes no request expensive. The queue's clock runs,
    because a request that never ends delays the next ones only for a time.
    """
    options.setdefault("stopwatch_s", time.perf_counter)
    options.setdefault("work_time_s", lambda: 0.0)
    handler = ScriptedHandler()
    listeners = Listeners(
        settings or NetworkSettings(),
        handler,
        clock_ms=lambda: 1_700_000_000_000,
        header_version=lambda api_key, api_version: None if api_key == UNKNOWN else 1,
        **options,
    )
    listeners.time_requests(timer)
    (endpoint,) = await listeners.open([Endpoint("TEST", host, port, security_protocol, security)])
    server = Server(listeners, handler, endpoint)
    try:
        yield server
    finally:
        await server.close()


async def until(condition: Callable[[], bool]) -> None:
    """Run loop iterations until the condition holds."""
    end = time.monotonic() + HANGS_AFTER_S
    while not condition():
        assert time.monotonic() < end, f"not after {HANGS_AFTER_S} s: {inspect.getsource(condition).strip()}"
        await asyncio.sleep(0)


def write_file(path: Path, size_bytes: int) -> bytes:
    """Write a file without repeated contents; returns its bytes."""
    content = random.Random(1).randbytes(size_bytes)
    path.write_bytes(content)
    return content


def warnings(records: list[logging.LogRecord]) -> list[str]:
    return [record.getMessage() for record in records if record.levelno >= logging.WARNING]
