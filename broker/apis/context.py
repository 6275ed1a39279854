"""What a handler knows about the request beyond its message."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from ..network.request import CloseConnectionError

__all__ = ["ClientAddress", "CloseConnectionError", "Handler", "RequestContext"]


@dataclass(frozen=True, slots=True)
class ClientAddress:
    """The two ends of a connection and the listener it came in by."""

    peer_host: str
    peer_port: int
    local_host: str
    local_port: int
    listener_name: str
    security_protocol: str = "PLAINTEXT"


@dataclass(slots=True)  # not frozen: that costs a microsecond a request
class RequestContext:
    """One request's surroundings. ``now_ms`` is the wall clock when its frame was complete."""

    api_version: int
    correlation_id: int
    client_id: str | None
    address: ClientAddress
    now_ms: int


Handler = Callable[[RequestContext, Any], Any | Awaitable[Any]]
"""``(context, request message) -> response message``, at once or awaited; None: no answer is sent (Produce, acks=0)."""
