"""Requests that took long."""

from typing import Annotated

from ..base.frozen import frozen
from .source import Source

__all__ = ["SlowRequest", "SlowRequests"]


@frozen(kw_only=True)
class SlowRequest:
    """One request that took longer than ``pybroker.slow.request.ms``, with the time of each phase."""

    time_ms: int
    api: str
    version: int
    client_id: str
    principal: str
    host: str
    request_bytes: int
    response_bytes: int
    total_ms: float
    queue_ms: float
    local_ms: float
    remote_ms: float
    throttle_ms: float
    send_ms: float
    waited_for: Annotated[str | None, "one line"]


@frozen(kw_only=True)
class SlowRequests:
    """The last slow requests, the newest first."""

    source: Source
    threshold_ms: Annotated[int, "0: slow requests are not noted"]
    items: tuple[SlowRequest, ...]
