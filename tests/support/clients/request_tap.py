"""A TCP proxy before a broker that records requests and their versions."""

import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from struct import Struct
from typing import NamedTuple

from pybroker.protocol.apis import ApiKey
from support.time.patience import await_thread

__all__ = ["RequestTap", "SeenRequest"]

_SIZE = Struct(">i")
_HEAD = Struct(">hhih")  # API key, version, correlation id, length of the client id


class SeenRequest(NamedTuple):
    client_id: str
    api: ApiKey
    version: int


class RequestTap:
    """A proxy: clients connect to `port`; data goes to `target_port`, which must be known at the first connection.

    It uses threads, because the brokers are processes and the test is not a coroutine.
    """

    def __init__(self) -> None:
        self.target_port = 0
        self._seen: dict[SeenRequest, None] = {}
        self._sockets: list[socket.socket] = []
        self._server = socket.create_server(("127.0.0.1", 0))
        self._passing: list[threading.Thread] = []
        self._accepting = _start(self._accept)

    @property
    def port(self) -> int:
        port: int = self._server.getsockname()[1]
        return port

    def take(self) -> list[SeenRequest]:
        """Returns the new requests since the last call, without duplicates. The broker must be down: the call waits
        until its connections end, so that no request in flight is missed.
        """
        passing, self._passing = self._passing, []
        for thread in passing:
            await_thread(thread, f"the end of a connection to port {self.target_port}")
        seen, self._seen = self._seen, {}
        return list(seen)

    def close(self) -> None:
        for each in (self._server, *self._sockets):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)  # wakes a blocked reader
        for thread in (self._accepting, *self._passing):
            await_thread(thread, f"the end of what passes to port {self.target_port}")
        for each in (self._server, *self._sockets):
            each.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:  # closed
                return
            try:
                broker = socket.create_connection(("127.0.0.1", self.target_port))
            except OSError:  # the broker is down
                client.close()
                continue
            self._sockets += [client, broker]
            self._passing += [_start(self._pass_requests, client, broker), _start(_pass_answers, broker, client)]

    def _pass_requests(self, client: socket.socket, broker: socket.socket) -> None:
        with suppress(OSError, EOFError):
            while True:
                head = _read(client, _SIZE.size)
                frame = _read(client, _SIZE.unpack(head)[0])
                self._note(frame)
                broker.sendall(head + frame)
        _end(client, broker)

    def _note(self, frame: bytes) -> None:
        api, version, _, length = _HEAD.unpack_from(frame)
        client_id = frame[_HEAD.size : _HEAD.size + max(length, 0)].decode()
        self._seen[SeenRequest(client_id, ApiKey(api), version)] = None


def _start(work: Callable[..., None], *arguments: socket.socket) -> threading.Thread:
    thread = threading.Thread(target=work, args=arguments, daemon=True)
    thread.start()
    return thread


def _pass_answers(broker: socket.socket, client: socket.socket) -> None:
    with suppress(OSError):
        while data := broker.recv(65536):
            client.sendall(data)
    _end(client, broker)


def _end(*sockets: socket.socket) -> None:
    for each in sockets:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)


def _read(source: socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = source.recv(min(size, 65536))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
