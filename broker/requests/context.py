"""What a handler knows about the request beyond its message."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..network.request import CloseConnectionError, ConnectionInfo, Request

__all__ = ["CloseConnectionError", "EncodedAnswer", "Handler", "RequestContext"]


@dataclass(slots=True)  # not frozen: that costs a microsecond a request
class RequestContext:
    """One request's surroundings.

    ``frame_bytes`` is how long its frame is, ``now_ms`` the wall clock when that was complete; ``address`` tells both
    ends of the connection and its listener.
    """

    api_version: int
    frame_bytes: int
    client_id: str | None
    address: ConnectionInfo
    now_ms: int
    abandon: Callable[[], None] | None = None
    """Set by a handler whose answer may take long: to be called when the connection is gone."""
    request: Request | None = None
    """Whose surroundings these are, if it came by a connection."""

    @classmethod
    def of(cls, request: Request) -> "RequestContext":
        return cls(
            request.api_version,
            len(request.frame),
            request.client_id,
            request.connection,
            request.received_ms,
            request=request,
        )


class EncodedAnswer(NamedTuple):
    """A response that its handler has encoded itself, without the header."""

    parts: list[bytes]


Handler = Callable[[RequestContext, Any], Any | Awaitable[Any]]
"""``(context, request message) -> response message`` (or `EncodedAnswer`), at once or awaited; None: no answer is sent
(Produce, acks=0)."""
