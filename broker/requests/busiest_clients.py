"""The clients that use this broker most, as ``/v1/clients`` shows them."""

from ...base.yielding import with_yields
from ...views.clients import Client
from ..network.client_traffic import ClientTraffic, busiest
from ..network.listener import Listeners

__all__ = ["busiest_clients"]

_MOST = 32


async def busiest_clients(listeners: Listeners) -> tuple[Client, ...]:
    """At most 32, the busiest first. Yields to the loop now and then, because there may be many connections."""
    traffics: list[ClientTraffic] = list(listeners.gone_clients)
    traffics += [connection.traffic async for connection in with_yields(listeners.connections())]
    return tuple(
        Client(
            client_id=each.key.client_id,
            principal=each.key.principal,
            software=each.key.software or None,
            host=each.key.host,
            connections=each.connections,
            requests=each.requests,
            bytes_in=each.bytes_in,
            bytes_out=each.bytes_out,
            throttle_ms=each.throttle_ms,
            last_seen_ms=each.last_seen_ms,
        )
        for each in busiest(traffics, _MOST)
    )
