"""The `kafka.` options of a reader, with Kafka's names and defaults.

Consumer settings without a meaning here are named in a warning, because a reader joins no group and commits nothing by
itself. An unknown name is an error, and so is a setting that contradicts how Spark reads.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from .options import OptionError
from .security_settings import SecuritySettings, take_security

logger = logging.getLogger(__name__)

READ_UNCOMMITTED = 0
READ_COMMITTED = 1

ISOLATION_LEVELS = {"read_uncommitted": READ_UNCOMMITTED, "read_committed": READ_COMMITTED}

_REFUSED = {
    "auto.offset.reset": "set 'startingOffsets' instead; Spark keeps the offsets of a query",
    "key.deserializer": "keys are bytes; cast the column",
    "value.deserializer": "values are bytes; cast the column",
    "enable.auto.commit": "offsets are kept in the checkpoint; set 'commitOffsetsToGroup' to store them in a group too",
    "interceptor.classes": "there is no Java client",
}

OF_JAVA = frozenset(
    {
        "auto.include.jmx.reporter",
        "metric.reporters",
        "metrics.num.samples",
        "metrics.recording.level",
        "metrics.sample.window.ms",
        "security.providers",
        "socket.connection.setup.timeout.max.ms",
        "ssl.enabled.protocols",
        "ssl.engine.factory.class",
        "ssl.keymanager.algorithm",
        "ssl.protocol",
        "ssl.provider",
        "ssl.secure.random.implementation",
        "ssl.trustmanager.algorithm",
    }
)
"""Settings that only Java clients use; they have no effect here."""

_WITHOUT_MEANING = OF_JAVA | {
    "allow.auto.create.topics",
    "auto.commit.interval.ms",
    "client.dns.lookup",
    "client.rack",
    "connections.max.idle.ms",
    "default.api.timeout.ms",
    "enable.metrics.push",
    "exclude.internal.topics",
    "fetch.min.bytes",
    "group.id",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "max.poll.records",
    "metadata.max.age.ms",
    "metadata.recovery.strategy",
    "partition.assignment.strategy",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "retry.backoff.max.ms",
    "send.buffer.bytes",
    "session.timeout.ms",
    "ssl.cipher.suites",
}


@dataclass(frozen=True, slots=True)
class ReaderSettings:
    """Settings for connecting to brokers and fetching from them."""

    bootstrap_servers: tuple[tuple[str, int], ...]
    client_id: str
    isolation_level: int
    check_crcs: bool
    fetch_bytes: int
    fetch_wait_ms: int
    connect_timeout_ms: int
    request_timeout_ms: int
    retry_backoff_ms: int
    receive_buffer_bytes: int | None
    security: SecuritySettings


def reader_settings(given: Mapping[str, str]) -> ReaderSettings:
    """Checks the options, whose names lack the prefix `kafka.`. Raises OptionError."""
    left = dict(given)
    for name, instead in _REFUSED.items():
        if name in left:
            raise OptionError(f"Option 'kafka.{name}' is not supported: {instead}")
    servers = left.pop("bootstrap.servers", None)
    if servers is None:
        raise OptionError("Option 'kafka.bootstrap.servers' must be given")
    isolation = left.pop("isolation.level", "read_uncommitted")
    if isolation not in ISOLATION_LEVELS:
        raise OptionError(
            f"Option 'kafka.isolation.level' must be one of {', '.join(ISOLATION_LEVELS)}, not '{isolation}'"
        )
    fetch_bytes = _number(left, "max.partition.fetch.bytes", 4 << 20)
    settings = ReaderSettings(
        bootstrap_servers=_servers(servers),
        client_id=left.pop("client.id", "pybroker-spark"),
        isolation_level=ISOLATION_LEVELS[isolation],
        check_crcs=_boolean(left, "check.crcs", default=True),
        fetch_bytes=min(fetch_bytes, _number(left, "fetch.max.bytes", 50 << 20)),
        fetch_wait_ms=_number(left, "fetch.max.wait.ms", 500),
        connect_timeout_ms=_number(left, "socket.connection.setup.timeout.ms", 10_000),
        request_timeout_ms=_number(left, "request.timeout.ms", 30_000),
        retry_backoff_ms=_number(left, "retry.backoff.ms", 100),
        receive_buffer_bytes=_optional_number(left, "receive.buffer.bytes"),
        security=take_security(left),
    )
    for name in sorted(left):
        if name not in _WITHOUT_MEANING:
            raise OptionError(f"Option 'kafka.{name}' is unknown for reading")
        logger.warning("Option 'kafka.%s' has no effect on this source", name)
    return settings


def _servers(text: str) -> tuple[tuple[str, int], ...]:
    servers = []
    for part in text.split(","):
        host, colon, port = part.strip().rpartition(":")
        if not part.strip():
            continue
        host = host.rpartition("://")[2].removeprefix("[").removesuffix("]")
        if not colon or not host or not (port.isascii() and port.isdigit()):
            raise OptionError(f"Option 'kafka.bootstrap.servers' must be like host:9092, not '{part.strip()}'")
        servers.append((host, int(port)))
    if not servers:
        raise OptionError("Option 'kafka.bootstrap.servers' names no broker")
    return tuple(servers)


def _number(left: dict[str, str], name: str, default: int) -> int:
    number = _optional_number(left, name)
    return default if number is None else number


def _optional_number(left: dict[str, str], name: str) -> int | None:
    text = left.pop(name, None)
    if text is None:
        return None
    if not text.strip().isdigit():
        raise OptionError(f"Option 'kafka.{name}' must be a whole number, not '{text}'")
    return int(text)


def _boolean(left: dict[str, str], name: str, default: bool) -> bool:
    text = left.pop(name, str(default)).strip().lower()
    if text not in ("true", "false"):
        raise OptionError(f"Option 'kafka.{name}' must be true or false, not '{text}'")
    return text == "true"
