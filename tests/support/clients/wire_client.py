"""A client that sends single requests exactly as given, for requests that no stock client would send."""

import select
import socket
import struct
from collections import deque
from types import TracebackType
from typing import Any

from pybroker.protocol.codec import Message
from support.clients.wire_frames import WireFrames

__all__ = ["WireClient"]


class WireClient:
    """A connection to `bootstrap_servers` (`host:port`). `timeout_s`: TimeoutError after this time without a response;
    None waits for ever.
    """

    def __init__(self, bootstrap_servers: str, timeout_s: float | None = None) -> None:
        host, _, port = bootstrap_servers.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), timeout_s)
        self._file = self._socket.makefile("rb")
        self._frames = WireFrames()
        self._asked: deque[tuple[Message, int]] = deque()

    def ask(self, request: Message, version: int) -> Any:
        """Sends a request; returns the response in `version` of its API."""
        self.send(request, version)
        return self.receive()

    def send(self, request: Message, version: int) -> None:
        """Sends a request without waiting; `receive` returns the response. One request at a time."""
        self._socket.sendall(self._frames.request(request, version))
        self._asked.append((request, version))

    def is_answered(self) -> bool:
        """Whether the response to the sent request has begun to arrive. Only without other responses under way."""
        return bool(select.select([self._socket], [], [], 0)[0])

    def receive(self) -> Any:
        """Returns the response to the sent request."""
        request, version = self._asked.popleft()
        (size,) = struct.unpack(">i", self._read(4))
        return self._frames.answer(request, version, self._read(size))

    def _read(self, size: int) -> bytes:
        read = self._file.read(size)
        assert len(read) == size, "the broker closed the connection"
        return read

    def close(self) -> None:
        self._file.close()
        self._socket.close()

    def __enter__(self) -> "WireClient":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
