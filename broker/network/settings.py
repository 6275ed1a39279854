"""The network layer's settings, with Kafka's names and defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from .connection_limits import LimitSettings

__all__ = ["Endpoint", "NetworkSettings"]


class SettingsSource(Protocol):
    """As much of ``config.Config`` as is read here."""

    def int(self, name: str, /) -> int: ...

    def string(self, name: str, /) -> str: ...


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One entry of ``listeners``. Host ``""``: every address of this machine; port 0: any free one."""

    listener_name: str
    host: str
    port: int
    security_protocol: str = "PLAINTEXT"

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.listener_name}://{host}:{self.port}"


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """What ``Listeners`` is made with."""

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
    backlog: int = 50
    """``socket.listen.backlog.size``."""
    max_parked_requests: int = 8
    """Requests of one connection begun and not answered; past that it is not read. Kafka's producers send up to 5."""
    limits: LimitSettings = field(default_factory=LimitSettings)

    @classmethod
    def from_config(
        cls, config: SettingsSource, *, inter_broker_listener: str | None, ip_overrides: Mapping[str, int]
    ) -> "NetworkSettings":
        """``ip_overrides``: ``max.connections.per.ip.overrides`` with host names resolved to addresses."""
        max_queued_bytes = config.int("queued.max.request.bytes")
        return cls(
            max_request_bytes=config.int("socket.request.max.bytes"),
            max_queued_bytes=max_queued_bytes if max_queued_bytes > 0 else 2**63,
            max_queued_requests=config.int("queued.max.requests"),
            max_idle_ms=config.int("connections.max.idle.ms"),
            send_buffer_bytes=config.int("socket.send.buffer.bytes"),
            receive_buffer_bytes=config.int("socket.receive.buffer.bytes"),
            backlog=config.int("socket.listen.backlog.size"),
            limits=LimitSettings(
                max_connections=config.int("max.connections"),
                max_connections_per_ip=config.int("max.connections.per.ip"),
                max_connections_per_ip_overrides=ip_overrides,
                inter_broker_listener=inter_broker_listener,
            ),
        )
