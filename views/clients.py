"""The clients that use a broker most."""

from typing import Annotated

from ..base.frozen import frozen
from .source import Source

__all__ = ["Client", "Clients"]


@frozen(kw_only=True)
class Client:
    """The connections with the same client id, principal, software and host."""

    client_id: str
    principal: str
    software: Annotated[str | None, "name and version that the client told"]
    host: str
    connections: int
    requests: int
    bytes_in: int
    bytes_out: int
    throttle_ms: Annotated[int, "sum of the delays that quotas asked of the client"]
    last_seen_ms: int


@frozen(kw_only=True)
class Clients:
    """The clients with most bytes, at most 32."""

    source: Source
    connections: Annotated[int, "connections of all clients"]
    items: tuple[Client, ...]
