"""Limits of connections: their number, their number per address, and the rate of new ones.

Settings: ``max.connections``, ``max.connections.per.ip`` with overrides, ``max.connection.creation.rate``.
This file only decides, as Kafka's ConnectionQuotas does. Over a limit of its address a connection is closed at once.
Over a limit of number it waits, unread, until another connection closes; over the rate it waits for its time. The
limits hold for all listeners together, and a listener may have its own besides. When there are other listeners, the
listener between brokers ignores the broker's limits: the longest idle connection of another listener is closed.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import field
from enum import Enum, auto
from ipaddress import ip_address

from ...base.frozen import frozen

__all__ = ["UNLIMITED", "Admission", "ConnectionLimits", "LimitSettings"]

UNLIMITED = 2**31 - 1


class Admission(Enum):
    """The decision about a new connection."""

    ADMIT = auto()
    ADMIT_AND_CLOSE_IDLE = auto()
    WAIT = auto()
    REFUSE = auto()


@frozen
class LimitSettings:
    """Kafka's names and defaults; all of them may change while the broker runs."""

    max_connections: int = UNLIMITED
    max_connections_per_ip: int = UNLIMITED
    max_connections_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    """By address as ``ipaddress`` writes it; the caller resolves host names."""
    max_connections_by_listener: Mapping[str, int] = field(default_factory=dict)
    max_creations_per_s: int = UNLIMITED
    max_creations_per_s_by_listener: Mapping[str, int] = field(default_factory=dict)
    inter_broker_listener: str | None = None


class ConnectionLimits:
    """Counts connections, and decides about the next one."""

    def __init__(self, settings: LimitSettings) -> None:
        self.settings = settings
        self.total = 0
        self._by_address: Counter[str] = Counter()
        self._by_listener: Counter[str] = Counter()
        self._listeners: set[str] = set()
        self._rate = _CreationRate()
        self._rate_by_listener: defaultdict[str, _CreationRate] = defaultdict(_CreationRate)

    def add_listener(self, name: str) -> None:
        self._listeners.add(name)

    def max_of_address(self, host: str) -> int:
        settings = self.settings
        if not settings.max_connections_per_ip_overrides:
            return settings.max_connections_per_ip
        return settings.max_connections_per_ip_overrides.get(_canonical(host), settings.max_connections_per_ip)

    @property
    def excess(self) -> int:
        """Connections above ``max.connections``, because it was lowered or other brokers connected."""
        return max(0, self.total - self.settings.max_connections)

    def rate_wait_s(self, listener_name: str, now_s: float) -> float:
        """Seconds for which ``max.connection.creation.rate`` delays the next connection."""
        wait_s = self._rate_by_listener[listener_name].wait_s(now_s)
        return wait_s if self.is_protected(listener_name) else max(wait_s, self._rate.wait_s(now_s))

    def decide(self, listener_name: str, host: str, now_s: float) -> Admission:
        """Decide about one more connection; ``add`` it only after ADMIT or ADMIT_AND_CLOSE_IDLE."""
        settings = self.settings
        if self._by_address[host] >= self.max_of_address(host):
            return Admission.REFUSE
        if self._by_listener[listener_name] >= settings.max_connections_by_listener.get(listener_name, UNLIMITED):
            return Admission.WAIT
        if self.rate_wait_s(listener_name, now_s) > 0:
            return Admission.WAIT
        if self.is_protected(listener_name):
            return Admission.ADMIT if self.total < settings.max_connections else Admission.ADMIT_AND_CLOSE_IDLE
        return Admission.ADMIT if self.total < settings.max_connections else Admission.WAIT

    def is_protected(self, listener_name: str) -> bool:
        return listener_name == self.settings.inter_broker_listener and len(self._listeners) > 1

    def add(self, listener_name: str, host: str, now_s: float) -> None:
        self.total += 1
        settings = self.settings
        if not self.is_protected(listener_name):
            self._rate.count(settings.max_creations_per_s, now_s)
        listeners_own = settings.max_creations_per_s_by_listener.get(listener_name, UNLIMITED)
        self._rate_by_listener[listener_name].count(listeners_own, now_s)
        self._by_address[host] += 1
        self._by_listener[listener_name] += 1

    def remove(self, listener_name: str, host: str) -> None:
        self.total -= 1
        self._by_listener[listener_name] -= 1
        self._by_address[host] -= 1
        if not self._by_address[host]:
            del self._by_address[host]


class _CreationRate:
    """When the next connection may come. A second's worth may come at once."""

    def __init__(self) -> None:
        self._next_s = 0.0  # when one more would be within the rate, if they came evenly

    def wait_s(self, now_s: float) -> float:
        return max(0.0, self._next_s - now_s - 1.0)

    def count(self, most_per_s: int, now_s: float) -> None:
        if most_per_s < UNLIMITED:
            self._next_s = max(self._next_s, now_s) + 1 / max(most_per_s, 1e-3)


def _canonical(host: str) -> str:
    try:
        return str(ip_address(host))
    except ValueError:  # "fe80::1%eth0" is fine from Python 3.9 on; a transport without addresses is not
        return host
