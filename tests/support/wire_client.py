"""A client that sends one request after another, exactly as a test writes it: for what no stock client would send."""

import socket
import struct
from types import TracebackType
from typing import Any

from pybroker.protocol.apis import API_SPECS
from pybroker.protocol.codec import Message, decode, encode
from pybroker.protocol.messages.headers import RequestHeader

__all__ = ["WireClient"]


class WireClient:
    """A connection to ``bootstrap_servers`` (``host:port``)."""

    def __init__(self, bootstrap_servers: str) -> None:
        host, _, port = bootstrap_servers.rpartition(":")
        self._socket = socket.create_connection((host, int(port)))
        self._file = self._socket.makefile("rb")
        self._correlation_id = 0

    def ask(self, request: Message, version: int) -> Any:
        """The answer to ``request`` in ``version`` of its API."""
        spec = next(spec for spec in API_SPECS.values() if spec.request_type() is type(request))
        self._correlation_id += 1
        header = RequestHeader(
            request_api_key=int(spec.key),
            request_api_version=version,
            correlation_id=self._correlation_id,
            client_id="wire",
        )
        frame = encode(header, spec.request_header_version(version)) + encode(request, version)
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        (size,) = struct.unpack(">i", self._read(4))
        answer = self._read(size)
        assert struct.unpack_from(">i", answer)[0] == self._correlation_id
        return decode(spec.response_type(), answer, version, offset=5 if spec.response_header_version(version) else 4)

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
