"""Keeps the last requests of a broker in memory."""

import time
from collections import deque
from collections.abc import Callable, Sequence

from ....protocol.apis import API_SPECS, ApiKey
from ...network.request import Request
from ...network.request_timer import NOT_PROMPT, FinishedRequest, RequestTimer
from .overview import clock_text, line

__all__ = ["RequestRing"]

_Kept = tuple[Request, float, float, int, int]
"""A request, when it was received and sent, and the bytes of its frame and of its response."""


class RequestRing:
    """A `RequestTimer` that keeps ``size`` requests, and tells the broker's own timer too."""

    def __init__(self, size: int) -> None:
        self.now_s: Callable[[], float] = time.perf_counter
        self._kept: deque[_Kept] = deque(maxlen=size)
        self._other: RequestTimer | None = None

    def beside(self, other: RequestTimer | None) -> RequestTimer:
        """Take times for ``other``, too."""
        self._other = other
        self.now_s = time.perf_counter if other is None else other.now_s
        return self

    def finished(self, requests: Sequence[FinishedRequest], sent_s: float) -> None:
        """See `RequestTimer`."""
        for request, received_s, _started_s, _handled_s, frame_bytes, response_bytes in requests:
            if received_s == NOT_PROMPT:
                kept = request, request.received_s, sent_s, request.frame_bytes, request.response_bytes
            else:
                kept = request, received_s, sent_s, frame_bytes, response_bytes
            self._kept.append(kept)
            request.frame = _NO_FRAME  # else the ring would keep the records of produce requests in memory
        if self._other is not None:
            self._other.finished(requests, sent_s)

    def clear(self) -> None:
        """Forget all."""
        self._kept.clear()

    def lines(self, since_ms: int) -> list[str]:
        """Return a line for each request that came at ``since_ms`` (wall clock) or later, the oldest first."""
        return [line(_text(each)) for each in list(self._kept) if each[0].received_ms >= since_ms]


_NO_FRAME = bytearray()


def _text(kept: _Kept) -> str:
    request, received_s, sent_s, request_bytes, response_bytes = kept
    api = API_SPECS[ApiKey(request.api_key)].name
    client = f"{request.client_id or ''!s} {request.connection.peer_host}:{request.connection.peer_port}"
    took = f"{(sent_s - received_s) * 1000:.1f} ms"
    size = f"{request_bytes} bytes" if not response_bytes else f"{request_bytes} bytes, answer {response_bytes} bytes"
    return f"{clock_text(request.received_ms)} {api} v{request.api_version} {took}, {size}, client {client}"
