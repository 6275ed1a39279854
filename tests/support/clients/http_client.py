"""An HTTP server of the broker on a free port, and a client that shows each response byte by byte."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any, Self

from pybroker.broker.http.router import Router
from pybroker.broker.http.server import HttpServer
from pybroker.broker.http.token_file import TokenFile
from pybroker.broker.network.settings import Endpoint
from pybroker.replication.run_in_pool import RunInPool
from pybroker.storage.workers.worker_pool import WorkerPool

__all__ = ["HttpClient", "Response", "http_server"]


@asynccontextmanager
async def http_server(
    router: Router,
    is_ending: Callable[[], bool] = lambda: False,
    tokens: TokenFile | None = None,
    patience_s: float = 60.0,
) -> AsyncIterator[int]:
    """A server with these routes; its port."""
    pool = WorkerPool(asyncio.get_running_loop(), 2, "test")
    server = HttpServer(router, RunInPool(pool), is_ending, patience_s, tokens)
    (endpoint,) = await server.open([Endpoint("HTTP", "127.0.0.1", 0)])
    try:
        yield endpoint.port
    finally:
        await server.close()
        pool.close()


@dataclass(frozen=True)
class Response:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class HttpClient:
    """One connection; used with ``async with``."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def __init__(self, port: int, host: str = "127.0.0.1", tls: ssl.SSLContext | None = None) -> None:
        """``tls``: trusts the server, whose certificate must be for ``localhost``."""
        self._address = host, port
        self._tls = tls

    async def __aenter__(self) -> Self:
        name = None if self._tls is None else "localhost"
        self.reader, self.writer = await asyncio.open_connection(*self._address, ssl=self._tls, server_hostname=name)
        return self

    async def __aexit__(self, *_error: object) -> None:
        self.writer.transport.abort()

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def get(self, target: str, headers: Mapping[str, str] | None = None) -> Response:
        lines = "".join(f"{name}: {value}\r\n" for name, value in {"Host": "localhost", **(headers or {})}.items())
        self.send(f"GET {target} HTTP/1.1\r\n{lines}\r\n".encode())
        return await self.response()

    async def response(self, *, has_body: bool = True) -> Response:
        """The next response."""
        head = await self.reader.readuntil(b"\r\n\r\n")
        first, *lines = head.decode().split("\r\n")[:-2]
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        body = b""
        if not has_body:
            pass
        elif "content-length" in headers:
            body = await self.reader.readexactly(int(headers["content-length"]))
        else:
            assert headers["transfer-encoding"] == "chunked"
            while size := int(await self.reader.readline(), 16):
                body += await self.reader.readexactly(size)
                assert await self.reader.readexactly(2) == b"\r\n"
            assert await self.reader.readexactly(2) == b"\r\n"
        return Response(int(first.split()[1]), headers, body)

    async def rest(self) -> bytes:
        """Everything up to the end of the connection."""
        return await self.reader.read()
