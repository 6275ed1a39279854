"""Settings for connections to the brokers of a cluster, by Kafka's names and defaults."""

from __future__ import annotations

from ..base.frozen import frozen
from .given_options import GivenOptions
from .security_settings import SecuritySettings, take_security

READ_UNCOMMITTED = 0
READ_COMMITTED = 1

ISOLATION_LEVELS = {"read_uncommitted": READ_UNCOMMITTED, "read_committed": READ_COMMITTED}


@frozen(kw_only=True)
class ClientSettings:
    """`receive_buffer_bytes` None: the system's choice."""

    bootstrap_servers: tuple[tuple[str, int], ...]
    client_id: str
    isolation_level: int
    connect_timeout_ms: int
    request_timeout_ms: int
    retry_backoff_ms: int
    receive_buffer_bytes: int | None
    security: SecuritySettings

    @property
    def isolation_name(self) -> str:
        """The isolation level as Kafka names it."""
        return next(name for name, level in ISOLATION_LEVELS.items() if level == self.isolation_level)


def take_client_settings(options: GivenOptions, client_id: str) -> ClientSettings:
    """Removes the options of connections from `options` and returns them checked. Raises OptionError."""
    return ClientSettings(
        bootstrap_servers=options.addresses("bootstrap.servers"),
        client_id=options.text("client.id", client_id),
        isolation_level=options.choice("isolation.level", "read_uncommitted", ISOLATION_LEVELS),
        connect_timeout_ms=options.number("socket.connection.setup.timeout.ms", 10_000),
        request_timeout_ms=options.number("request.timeout.ms", 30_000),
        retry_backoff_ms=options.number("retry.backoff.ms", 100),
        receive_buffer_bytes=options.optional_number("receive.buffer.bytes"),
        security=take_security(options),
    )
