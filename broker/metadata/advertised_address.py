"""The addresses clients are told."""

from typing import Protocol

from .leader_hints import BrokerEndpoint
from .metadata_cache import MetadataCache

__all__ = ["AdvertisedAddresses", "ReachedBy", "reachable_host"]

_MAPPED_IPV4 = "::ffff:"


class ReachedBy(Protocol):
    """The end of a connection that is ours, and the listener it came in by."""

    @property
    def local_host(self) -> str: ...
    @property
    def local_port(self) -> int: ...
    @property
    def listener_name(self) -> str: ...


class AdvertisedAddresses:
    """Brokers as a client can reach them. Without ``advertised.listeners`` a client is told of this broker the address
    by which it reached it: with several networks, or none that has a name, that is the one that works."""

    def __init__(self, cache: MetadataCache, broker_id: int, *, as_reached: bool) -> None:
        self._cache = cache
        self._broker_id = broker_id
        self.as_reached = as_reached
        """``advertised.listeners`` is not set."""

    def endpoint_of(self, node_id: int, address: ReachedBy) -> BrokerEndpoint | None:
        """None: the broker is not alive, or does not have the client's listener."""
        endpoint = self._cache.endpoint_of(node_id, address.listener_name)
        if endpoint is None or node_id != self._broker_id or not self.as_reached:
            return endpoint
        return endpoint._replace(host=reachable_host(address.local_host), port=address.local_port)

    def endpoints(self, address: ReachedBy) -> list[BrokerEndpoint]:
        """All brokers that are alive and have the client's listener, by rising id."""
        found = (self.endpoint_of(node_id, address) for node_id in self._cache.broker_ids)
        return [endpoint for endpoint in found if endpoint is not None]


def reachable_host(local_host: str) -> str:
    """A socket's own address as a client would write it: an IPv4 one that came in by an IPv6 socket as IPv4."""
    lowered = local_host.lower()
    if lowered.startswith(_MAPPED_IPV4) and "." in lowered:
        return local_host[len(_MAPPED_IPV4) :]
    return local_host
