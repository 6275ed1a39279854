"""The `kafka.` options of a reader, with Kafka's names and defaults.

Consumer settings without a meaning here are named in a warning, because a reader joins no group and commits nothing by
itself. An unknown name is an error, and so is a setting that contradicts how Spark reads.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import fields

from ...base.frozen import frozen
from ...client.client_settings import ClientSettings, take_client_settings
from ...client.given_options import GivenOptions, OptionError
from .options import KAFKA_PREFIX

logger = logging.getLogger(__name__)

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


@frozen(kw_only=True)
class ReaderSettings(ClientSettings):
    """Settings for connecting to brokers and fetching from them."""

    check_crcs: bool
    fetch_bytes: int
    fetch_wait_ms: int


def warn_of_unused_security(given: Mapping[str, str]) -> None:
    """Logs a warning for each option of TLS or logins that `security.protocol` makes no use of. The names of options
    lack the prefix `kafka.`.
    """
    protocol = given.get("security.protocol", "PLAINTEXT").strip().upper()
    used = {"ssl.": protocol.endswith("SSL"), "sasl.": protocol.startswith("SASL_")}
    unused = tuple(prefix for prefix, is_used in used.items() if not is_used)
    for name in sorted(given):
        if name.startswith(unused) and name not in _WITHOUT_MEANING:  # those have a warning of their own
            logger.warning(
                "Option '%s%s' has no effect with 'kafka.security.protocol' %s", KAFKA_PREFIX, name, protocol
            )


def reader_settings(given: Mapping[str, str]) -> ReaderSettings:
    """Checks the options, whose names lack the prefix `kafka.`. Raises OptionError."""
    options = GivenOptions(given, KAFKA_PREFIX)
    for name, instead in _REFUSED.items():
        if name in options:
            raise OptionError(f"Option {options.named(name)} is not supported: {instead}")
    client = take_client_settings(options, "pybroker-spark")
    fetch_bytes = options.number("max.partition.fetch.bytes", 4 << 20)
    settings = ReaderSettings(
        **{each.name: getattr(client, each.name) for each in fields(client)},
        check_crcs=options.boolean("check.crcs", default=True),
        fetch_bytes=min(fetch_bytes, options.number("fetch.max.bytes", 50 << 20)),
        fetch_wait_ms=options.number("fetch.max.wait.ms", 500),
    )
    for name in options:
        if name not in _WITHOUT_MEANING:
            raise OptionError(f"Option {options.named(name)} is unknown for reading")
        logger.warning("Option %s has no effect on this source", options.named(name))
    warn_of_unused_security(given)
    return settings
