"""A client that sends one request after another, exactly as a test writes it: for what no stock client would send."""

import socket
import struct
from collections import deque
from types import TracebackType
from typing import Any

from pybroker.protocol.codec import Message
from support.clients.wire_frames import WireFrames

__all__ = ["WireClient"]


class WireClient:
    """A connection to ``bootstrap_servers`` (``host:port``). ``patience_s``: TimeoutError, when it says nothing for so
    long; without, it is waited for."""

    def __init__(self, bootstrap_servers: str, patience_s: float | None = None) -> None:
        host, _, port = bootstrap_servers.rpartition(":")
        self._socket = socket.create_connection((host, int(port)), patience_s)
        self._file = self._socket.makefile("rb")
        self._frames = WireFrames()
        self._asked: deque[tuple[Message, int]] = deque()

    def ask(self, request: Message, version: int) -> Any:
        """The answer to ``request`` in ``version`` of its API."""
        self.send(request, version)
        return self.receive()

    def send(self, request: Message, version: int) -> None:
        """Ask, and do not wait for the answer: `receive` has it, one request at a time."""
        self._socket.sendall(self._frames.request(request, version))
        self._asked.append((request, version))

    def receive(self) -> Any:
        """The answer to what was sent."""
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
