"""A client that sends one request after another, exactly as a test writes it: for what no stock client would send."""

import socket
import struct
from types import TracebackType
from typing import Any

from pybroker.protocol.codec import Message
from support.wire_frames import WireFrames

__all__ = ["WireClient"]


class WireClient:
    """A connection to ``bootstrap_servers`` (``host:port``)."""

    def __init__(self, bootstrap_servers: str) -> None:
        host, _, port = bootstrap_servers.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._file = self._socket.makefile("rb")
        self._frames = WireFrames()

    def ask(self, request: Message, version: int) -> Any:
        """The answer to ``request`` in ``version`` of its API."""
        self._socket.sendall(self._frames.request(request, version))
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
