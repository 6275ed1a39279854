"""The broker addresses in responses to clients."""

from collections.abc import Collection

from ...config.config import Config
from ...config.listeners import is_every_address
from ..network.request import ConnectionInfo
from .leader_hints import BrokerEndpoint
from .metadata_cache import MetadataCache

__all__ = ["AdvertisedAddresses", "listeners_named_as_reached", "reachable_host"]

_MAPPED_IPV4 = "::ffff:"


class AdvertisedAddresses:
    """Addresses of brokers by the client's listener.

    A single broker whose listener has every address (``0.0.0.0``, or no host) gives each client the address that its
    connection uses, unless ``advertised.listeners`` is set. That works without DNS, and with several networks.
    """

    def __init__(self, cache: MetadataCache, broker_id: int, as_reached: Collection[str]) -> None:
        self._cache = cache
        self._broker_id = broker_id
        self.as_reached = as_reached
        """Names of the listeners whose clients get the address that their connection uses."""

    def endpoint_of(self, node_id: int, address: ConnectionInfo) -> BrokerEndpoint | None:
        """The broker's address; None when it is not alive or does not have the client's listener."""
        endpoint = self._cache.endpoint_of(node_id, address.listener_name)
        if endpoint is None or node_id != self._broker_id or address.listener_name not in self.as_reached:
            return endpoint
        return endpoint._replace(host=reachable_host(address.local_host), port=address.local_port)

    def endpoints(self, address: ConnectionInfo) -> list[BrokerEndpoint]:
        """All live brokers that have the client's listener, by rising id."""
        found = (self.endpoint_of(node_id, address) for node_id in self._cache.broker_ids)
        return [endpoint for endpoint in found if endpoint is not None]


def listeners_named_as_reached(config: Config) -> frozenset[str]:
    """Names of the listeners for `AdvertisedAddresses.as_reached`."""
    if config.advertised_listeners() is not None or not config.uses_embedded_store:
        return frozenset()
    return frozenset(listener.name for listener in config.listeners() if is_every_address(listener.host))


def reachable_host(local_host: str) -> str:
    """The local address of a socket for clients. An IPv4 address mapped into IPv6 becomes plain IPv4."""
    lowered = local_host.lower()
    if lowered.startswith(_MAPPED_IPV4) and "." in lowered:
        return local_host[len(_MAPPED_IPV4) :]
    return local_host
