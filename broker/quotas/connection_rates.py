"""Rates at which addresses may connect (connection_creation_rate, KIP-612), and the connections held for it. Pure.

A connection that exceeds the rate of its address is held open, unread, for its throttle time and then closed. The
client therefore does not connect again at once.
"""

from heapq import heappop, heappush
from ipaddress import IPv6Address, ip_address
from itertools import count
from typing import Generic, TypeVar

from .quota_entity import DEFAULT, Name
from .recently_used import MOST_COUNTERS, RecentlyUsed
from .sampled_rate import SampledRate, Windows
from .throttle_time import throttle_time_ms

__all__ = ["ConnectionRates", "HeldConnections", "canonical_address"]

Held = TypeVar("Held")

UNLIMITED = 2**31 - 1


class ConnectionRates:
    """Times are ms of a clock that does not go back."""

    def __init__(self, windows: Windows, most_counters: int = MOST_COUNTERS) -> None:
        self._windows = windows
        self._bounds: dict[Name, float] = {}
        self._rates: RecentlyUsed[str, SampledRate] = RecentlyUsed(
            SampledRate, lambda rate, now_ms: rate.is_idle(now_ms, windows), most_counters
        )

    def set_limit(self, ip: Name, bound: float | None) -> None:
        """Set the connections a second of an address, or of those without their own limit; None removes the limit."""
        key = canonical_address(ip) if isinstance(ip, str) else ip
        if bound is None:
            self._bounds.pop(key, None)
        else:
            self._bounds[key] = bound

    def record(self, host: str, now_ms: int) -> int:
        """Count a new connection; returns how long to hold it before it is closed, 0 to serve it.

        A connection that is not served does not count.
        """
        if not self._bounds:
            return 0
        address = canonical_address(host)
        bound = self._bounds.get(address, self._bounds.get(DEFAULT, UNLIMITED))
        if bound >= UNLIMITED:
            return 0
        rate = self._rates.get(address, now_ms)
        rate.record(1, now_ms, self._windows)
        hold_ms = throttle_time_ms(rate.measure(now_ms, self._windows), bound, self._windows.length_ms)
        if hold_ms:
            rate.record(-1, now_ms, self._windows)
        return hold_ms


class HeldConnections(Generic[Held]):
    """Connections that wait to be closed, at most ``most``; beyond that the next one due is closed early."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._held: list[tuple[int, int, Held]] = []
        self._numbers = count()

    def __len__(self) -> int:
        return len(self._held)

    def hold(self, connection: Held, until_ms: int) -> Held | None:
        """Hold a connection; returns the connection that must be closed now, because there are too many."""
        heappush(self._held, (until_ms, next(self._numbers), connection))
        return heappop(self._held)[2] if len(self._held) > self._most else None

    def due(self, now_ms: int) -> list[Held]:
        """The connections to close now, which are held no longer."""
        due = []
        while self._held and self._held[0][0] <= now_ms:
            due.append(heappop(self._held)[2])
        return due

    @property
    def next_ms(self) -> int | None:
        """When the next connection is due; None: none is held."""
        return self._held[0][0] if self._held else None


def canonical_address(host: str) -> str:
    """One text for each address. An IPv4 address seen by an IPv6 socket is the IPv4 address, as in Java."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(address)
