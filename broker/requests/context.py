"""The context of a request beyond its message, and the types of a handler's result."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ..network.request import CloseConnectionError, ConnectionInfo, Request

__all__ = ["CloseConnectionError", "EncodedResponse", "Handler", "RequestContext"]


@dataclass(slots=True)  # not frozen: that costs a microsecond a request
class RequestContext:
    """``frame_bytes`` is the size of the request's frame, ``now_ms`` the wall clock when the frame was complete,
    ``address`` both ends of the connection and its listener."""

    api_version: int
    frame_bytes: int
    client_id: str | None
    address: ConnectionInfo
    now_ms: int
    abandon: Callable[[], None] | None = None
    """Set by a handler whose response may take long: called when the connection is lost before."""
    request: Request | None = None
    """None when the request came by no connection."""

    @classmethod
    def of(cls, request: Request) -> "RequestContext":
        return cls(
            request.api_version,
            len(request.frame),
            request.client_id,
            request.connection,
            request.received_ms,
            None,
            request,
        )


class EncodedResponse:
    """A response that its handler encodes itself. A base class, because one isinstance of a protocol costs 1 µs."""

    __slots__ = ()

    def encode_body(self, throttle_time_ms: int) -> bytes:
        """The response without its header."""
        raise NotImplementedError


Handler = Callable[[RequestContext, Any], Any | Awaitable[Any]]
"""``(context, request message) -> response message`` (or `EncodedResponse`), at once or awaited; None: no response is
sent (Produce, acks=0)."""
