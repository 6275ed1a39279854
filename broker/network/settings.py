"""The network layer's settings, with Kafka's names and defaults."""

import contextlib
import logging
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Self

from ...base.frozen import frozen
from ...config.config import Config
from ...config.config_error import ConfigError
from ...config.listeners import Listener, listener_address
from .connection_limits import LimitSettings
from .endpoint_security import UNPROTECTED, EndpointSecurity

__all__ = ["Endpoint", "KnownHosts", "NetworkSettings", "addresses_of", "limit_settings"]

logger = logging.getLogger(__name__)

_PATIENCE_S = 5.0
_MOST_TOLD = 5

Resolve = Callable[[str], Sequence[str]]
"""A host name's addresses; raises OSError when there are none."""


def addresses_of(host: str) -> Sequence[str]:
    """The addresses of a host name, or the address itself. Blocks; raises OSError when the name is unknown."""
    return [str(address[0]) for *_, address in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]


@frozen
class Endpoint:
    """One entry of ``listeners``. Host ``""``: every address of this machine; port 0: any free one."""

    listener_name: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"
    security: EndpointSecurity = field(default=UNPROTECTED, compare=False, repr=False)

    @classmethod
    def from_listener(cls, listener: Listener) -> "Endpoint":
        return cls(listener.name, listener.host or "", listener.port, listener.security_protocol)

    def __str__(self) -> str:
        return listener_address(self.listener_name, self.host, self.port)


@frozen
class NetworkSettings:
    """Settings of `Listeners`."""

    max_request_bytes: int = 100 * 1024 * 1024
    """``socket.request.max.bytes``."""
    max_queued_bytes: int = 256 * 1024 * 1024
    """``queued.max.request.bytes``; unbounded in Kafka."""
    max_queued_requests: int = 500
    """``queued.max.requests``."""
    max_idle_ms: int = 600_000
    """``connections.max.idle.ms``; negative: never."""
    send_buffer_bytes: int = 102_400
    """``socket.send.buffer.bytes``; -1: the system's."""
    receive_buffer_bytes: int = 102_400
    """``socket.receive.buffer.bytes``; -1: the system's."""
    backlog: int = 1024
    """``socket.listen.backlog.size``; 50 in Kafka."""
    max_parked_requests: int = 8
    """``pybroker.max.in.flight.requests.per.connection``: the most requests started and not answered."""
    max_unsent_bytes: int = 256 * 1024 * 1024
    """``pybroker.unsent.max.bytes``."""
    max_local_send_buffer_bytes: int = 80 * 1024 * 1024
    """``pybroker.local.send.buffers.max.bytes``."""
    max_decoded_bytes: int = 8 * 1024 * 1024
    """``pybroker.decoded.requests.max.bytes``, for each of two accounts."""
    limits: LimitSettings = field(default_factory=LimitSettings)

    @classmethod
    def from_config(cls, config: Config, resolve: Resolve = addresses_of) -> "NetworkSettings":
        """:raises ConfigError: a host of ``max.connections.per.ip.overrides`` is unknown."""
        max_queued_bytes = config.int("queued.max.request.bytes")
        return cls(
            max_request_bytes=config.int("socket.request.max.bytes"),
            max_queued_bytes=max_queued_bytes if max_queued_bytes > 0 else 2**63,
            max_queued_requests=config.int("queued.max.requests"),
            max_idle_ms=config.int("connections.max.idle.ms"),
            send_buffer_bytes=config.int("socket.send.buffer.bytes"),
            receive_buffer_bytes=config.int("socket.receive.buffer.bytes"),
            backlog=config.int("socket.listen.backlog.size"),
            max_parked_requests=config.int("pybroker.max.in.flight.requests.per.connection"),
            max_unsent_bytes=config.int("pybroker.unsent.max.bytes"),
            max_local_send_buffer_bytes=config.int("pybroker.local.send.buffers.max.bytes"),
            max_decoded_bytes=config.int("pybroker.decoded.requests.max.bytes"),
            limits=limit_settings(config, resolve),
        )


def limit_settings(config: Config, resolve: Resolve = addresses_of) -> LimitSettings:
    """The limits that may change while the broker runs (``Listeners.change_limits``).

    :raises ConfigError: a host of ``max.connections.per.ip.overrides`` is unknown.
    """
    overrides = {}
    for host, most in config.max_connections_per_ip_overrides.items():
        try:
            addresses = resolve(host)
        except OSError as error:
            shown = config.shown("max.connections.per.ip.overrides")
            raise ConfigError(f"{shown}: the host {host} is unknown ({error}); correct or remove it") from error
        overrides.update(dict.fromkeys(addresses, most))
    return LimitSettings(
        max_connections=config.int("max.connections"),
        max_connections_per_ip=config.int("max.connections.per.ip"),
        max_connections_per_ip_overrides=overrides,
        max_connections_by_listener=_by_listener(config, "max.connections"),
        max_creations_per_s=config.int("max.connection.creation.rate"),
        max_creations_per_s_by_listener=_by_listener(config, "max.connection.creation.rate"),
        inter_broker_listener=config.inter_broker_listener_name,
    )


def _by_listener(config: Config, name: str) -> dict[str, int]:
    """As in Kafka, where a listener has no value of its own, the common one holds for it alone, too."""
    return {listener.name: config.for_listener(listener.name).int(name) for listener in config.listeners()}


class KnownHosts:
    """Looks up hosts of ``max.connections.per.ip.overrides`` that were set while the broker runs.

    Unknown hosts have no addresses; the other limits hold all the same. After ``_PATIENCE_S`` no more is looked up,
    because a name server may be silent. At the end of the ``with`` one log line names the unknown hosts.
    ``resolve`` blocks, and raises OSError. ``now_s``: a stopwatch.
    """

    def __init__(
        self,
        resolve: Callable[[str], Sequence[str]] = addresses_of,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._resolve = resolve
        self._now_s = now_s
        self._ends_s = now_s() + _PATIENCE_S
        self._unknown: list[str] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        unknown = self._unknown
        if unknown:
            more = f" and {len(unknown) - _MOST_TOLD} more" if len(unknown) > _MOST_TOLD else ""
            shown = ", ".join(unknown[:_MOST_TOLD])
            logger.error("max.connections.per.ip.overrides: no address is known of %s%s", shown, more)

    def addresses_of(self, host: str) -> Sequence[str]:
        if self._now_s() < self._ends_s:
            with contextlib.suppress(OSError):
                return self._resolve(host)
        self._unknown.append(host)
        return ()
