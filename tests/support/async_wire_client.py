"""Many raw clients in one asyncio process: each a connection that asks one thing after another."""

import asyncio
import struct
from typing import Any

from pybroker.protocol.apis import API_SPECS, ApiSpec
from pybroker.protocol.codec import Message, decode, encode
from pybroker.protocol.messages.headers import RequestHeader

__all__ = ["AsyncWireClient"]

_SPEC_OF: dict[type[Message], ApiSpec] = {}


def spec_of(request_type: type[Message]) -> ApiSpec:
    spec = _SPEC_OF.get(request_type)
    if spec is None:
        spec = next(spec for spec in API_SPECS.values() if spec.request_type() is request_type)
        _SPEC_OF[request_type] = spec
    return spec


class AsyncWireClient:
    """A connection. Made by ``connect``."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._correlation_id = 0

    @classmethod
    async def connect(cls, bootstrap_servers: str) -> "AsyncWireClient":
        host, _, port = bootstrap_servers.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def ask(self, request: Message, version: int) -> Any:
        """The answer to ``request`` in ``version`` of its API. Raises IncompleteReadError when the broker hung up."""
        spec = spec_of(type(request))
        self._correlation_id += 1
        header = RequestHeader(
            request_api_key=int(spec.key),
            request_api_version=version,
            correlation_id=self._correlation_id,
            client_id="wire",
        )
        frame = encode(header, spec.request_header_version(version)) + encode(request, version)
        self._writer.write(struct.pack(">i", len(frame)) + frame)
        (size,) = struct.unpack(">i", await self._reader.readexactly(4))
        answer = await self._reader.readexactly(size)
        assert struct.unpack_from(">i", answer)[0] == self._correlation_id
        return decode(spec.response_type(), answer, version, offset=5 if spec.response_header_version(version) else 4)

    def close(self) -> None:
        self._writer.close()
