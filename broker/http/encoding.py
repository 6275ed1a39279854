"""Compresses responses by gzip for clients that accept it."""

import zlib
from collections.abc import AsyncIterator
from dataclasses import replace

from ...replication.run_in_pool import RunInPool
from .request import HttpRequest
from .response import HttpResponse

__all__ = ["Encoder"]

_LEAST_BYTES = 1024
_MAX_BYTES_ON_LOOP = 16 * 1024
_GATHERED_BYTES = 128 * 1024
"""Pieces of a long body that are compressed together, because each way to a worker and back takes time."""
_LEVEL = 1
_GZIP = 16 + zlib.MAX_WBITS
_EVENT_STREAM = "text/event-stream"


class Encoder:
    """``run_in_pool`` compresses pieces that would hold the event loop for long."""

    def __init__(self, run_in_pool: RunInPool) -> None:
        self._run_in_pool = run_in_pool

    async def encode(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """The response, compressed if the client accepts gzip and that is worth while."""
        body = response.body
        if response.content_type.startswith(_EVENT_STREAM) or (isinstance(body, bytes) and len(body) < _LEAST_BYTES):
            return response
        headers = (*response.headers, ("Vary", "Accept-Encoding"))
        if not accepts_gzip(request.headers.get("accept-encoding", "")):
            return replace(response, headers=headers)
        headers = (*headers, ("Content-Encoding", "gzip"))
        if isinstance(body, bytes):
            compressor = zlib.compressobj(_LEVEL, wbits=_GZIP)
            return replace(response, headers=headers, body=await self._compress(compressor, body, is_last=True))
        return replace(response, headers=headers, body=self._stream(body))

    async def _stream(self, pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        compressor = zlib.compressobj(_LEVEL, wbits=_GZIP)
        gathered: list[bytes] = []
        size = 0
        try:
            async for piece in pieces:
                gathered.append(piece)
                size += len(piece)
                if size >= _GATHERED_BYTES:
                    yield await self._compress(compressor, b"".join(gathered))
                    gathered.clear()
                    size = 0
            yield await self._compress(compressor, b"".join(gathered), is_last=True)
        finally:
            close = getattr(pieces, "aclose", None)
            if close is not None:
                await close()

    async def _compress(self, compressor: "zlib._Compress", data: bytes, *, is_last: bool = False) -> bytes:
        def compress() -> bytes:
            compressed = compressor.compress(data)
            return compressed + compressor.flush() if is_last else compressed

        return compress() if len(data) <= _MAX_BYTES_ON_LOOP else await self._run_in_pool(compress)


def accepts_gzip(accept_encoding: str) -> bool:
    """Whether the header Accept-Encoding names gzip, or everything, with a weight above 0."""
    weights: dict[str, bool] = {}
    for element in accept_encoding.lower().split(","):
        coding, *parameters = (part.strip() for part in element.split(";"))
        weights[coding] = not any(_is_zero(parameter) for parameter in parameters)
    return weights.get("gzip", weights.get("*", False))


def _is_zero(parameter: str) -> bool:
    name, _, value = parameter.partition("=")
    return name.strip() == "q" and not value.strip().strip("0.")
