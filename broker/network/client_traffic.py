"""The clients that talk with this broker, by client id, principal, software and host.

How: each connection counts its own requests and bytes. The sums over the connections of a client are made when somebody
asks. A closed connection adds its counts to those of its client. Limits: of clients without a connection only the
`_MOST_GONE` last are remembered.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

__all__ = ["ClientKey", "ClientTraffic", "GoneClients", "busiest"]

_MOST_GONE = 256


class ClientKey(NamedTuple):
    """``software``: the name and version that the client told; "" if it told none."""

    client_id: str
    principal: str
    software: str
    host: str


class ClientTraffic:
    """The traffic of a client, or of one connection. ``last_seen_ms``: wall clock of the last read."""

    __slots__ = ("bytes_in", "bytes_out", "connections", "key", "last_seen_ms", "requests", "throttle_ms")

    def __init__(self, key: ClientKey) -> None:
        self.key = key
        self.connections = 0
        self.requests = 0
        self.bytes_in = 0
        self.bytes_out = 0
        self.throttle_ms = 0
        self.last_seen_ms = 0

    def include(self, other: "ClientTraffic") -> None:
        self.connections += other.connections
        self.requests += other.requests
        self.bytes_in += other.bytes_in
        self.bytes_out += other.bytes_out
        self.throttle_ms += other.throttle_ms
        self.last_seen_ms = max(self.last_seen_ms, other.last_seen_ms)

    @property
    def bytes(self) -> int:
        return self.bytes_in + self.bytes_out


class GoneClients:
    """The traffic of closed connections."""

    def __init__(self) -> None:
        self._by_key: OrderedDict[ClientKey, ClientTraffic] = OrderedDict()

    def add(self, traffic: ClientTraffic) -> None:
        """A connection has ended."""
        if not traffic.requests:
            return
        total = self._by_key.setdefault(traffic.key, ClientTraffic(traffic.key))
        traffic.connections = 0
        total.include(traffic)
        self._by_key.move_to_end(traffic.key)
        if len(self._by_key) > _MOST_GONE:
            self._by_key.popitem(last=False)

    def __iter__(self) -> Iterator[ClientTraffic]:
        return iter(list(self._by_key.values()))


def busiest(traffics: Iterable[ClientTraffic], most: int) -> list[ClientTraffic]:
    """The clients with most bytes, the busiest first."""
    by_key: dict[ClientKey, ClientTraffic] = {}
    for traffic in traffics:
        by_key.setdefault(traffic.key, ClientTraffic(traffic.key)).include(traffic)
    return sorted(by_key.values(), key=lambda each: (-each.bytes, each.key))[:most]
