"""Runs the console: uvicorn on its sockets, with limits for connections that send nothing."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import sys
import threading
from collections.abc import Sequence

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from .app import make_app
from .console import Console
from .http.guards import own_hosts
from .settings import ConsoleSettings

logger = logging.getLogger(__name__)

MAX_CONNECTIONS = 256
HEAD_S = 5.0
"""The time for the head of a request, from its first byte; that of the first request from the connection on."""
_KEEP_ALIVE_S = 15
_MAX_HEAD_BYTES = 16 << 10
_BACKLOG = 128


class _Protocol(H11Protocol):
    """Closes connections above the limit, and those that do not complete the head of a request in time.

    Between two requests uvicorn closes idle connections, but not those that have sent a part of a head.
    """

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        else:
            self._deadline = self.loop.call_later(HEAD_S, transport.abort)

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._end_deadline()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(HEAD_S, self.transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_deadline()
        super().connection_lost(exc)

    def _end_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None


def bind(addresses: Sequence[tuple[str, int]]) -> list[socket.socket]:
    """Sockets that listen on these addresses. Raises OSError, which names the address."""
    bound = []
    for host, port in addresses:
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            made = socket.socket(family, socket.SOCK_STREAM)
            bound.append(made)
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind((host, port))
            made.listen(_BACKLOG)
            made.setblocking(False)
        except OSError as error:
            for each in bound:
                each.close()
            raise OSError(error.errno, f"cannot listen on {host}:{port}: {error.strerror}") from None
    return bound


def serve(
    settings: ConsoleSettings, sockets: list[socket.socket], certificate: str | None, *, ends_with_stdin: bool
) -> None:
    """Runs until a signal, or with `ends_with_stdin` until the standard input closes."""
    names = [str(each.getsockname()[0]) for each in sockets]
    scheme = "http" if certificate is None else "https"
    console = Console(settings)
    config = uvicorn.Config(
        make_app(console, own_hosts(names, settings.url)),
        http=_Protocol,
        loop="asyncio",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_keep_alive=_KEEP_ALIVE_S,
        timeout_graceful_shutdown=1,
        h11_max_incomplete_event_size=_MAX_HEAD_BYTES,
        ssl_certfile=certificate,
    )
    server = uvicorn.Server(config)
    if ends_with_stdin:
        threading.Thread(target=_end_with_stdin, args=(server,), daemon=True).start()
    shown = ", ".join(f"{scheme}://{_address(each)}" for each in sockets)
    logger.info("the console is ready: open %s", settings.url or shown)
    asyncio.run(_serve(server, sockets, console))


async def _serve(server: uvicorn.Server, sockets: list[socket.socket], console: Console) -> None:
    """The sessions end before the loop does, because their connections need it."""
    try:
        await server.serve(sockets=sockets)
    finally:
        console.close()


def _end_with_stdin(server: uvicorn.Server) -> None:
    """The parent holds the other end of the pipe, so its end closes the standard input, however it ended."""
    while os.read(sys.stdin.fileno(), 1024):
        pass
    server.should_exit = True


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
