"""Checks across several settings, as Kafka's broker makes them (``KafkaConfig.validateValues``).

Kafka's checks for KRaft and SASL are left out. The check of the group session timeouts is
pybroker's own.
"""

import os
import re
from collections.abc import Callable, Iterable, Sequence

from .config import Config
from .config_error import ConfigError
from .group_protocols import asks_for_consumer_protocol, asks_for_share_groups, assignor_name
from .listeners import is_every_address
from .versions import is_at_least, metadata_version

_MIB = 1 << 20
_HOST = re.compile(r"[0-9a-zA-Z\-%._:]+")
_ZOOKEEPER_SERVER = re.compile(r"(?:\[[0-9a-fA-F.:%]+\]|[^\s:\[\]]+)(?::(\d{1,5}))?", re.ASCII)
_MOST_PORT = 65535

# (smaller, larger): the first must not exceed the second.
_ORDERED = (
    ("replica.fetch.wait.max.ms", "replica.socket.timeout.ms"),
    ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms"),
    ("group.min.session.timeout.ms", "group.max.session.timeout.ms"),
    ("log.cleaner.min.compaction.lag.ms", "log.cleaner.max.compaction.lag.ms"),
    ("offsets.topic.num.partitions", "pybroker.partitions.max.per.creation"),
    ("transaction.state.log.num.partitions", "pybroker.partitions.max.per.creation"),
)

# Names after ``group.consumer`` and ``group.share``, and after ``min`` and ``max`` there.
_BOUNDED_OF_CONSUMER_GROUPS = ("heartbeat.interval.ms", "session.timeout.ms")
_BOUNDED_OF_SHARE_GROUPS = (*_BOUNDED_OF_CONSUMER_GROUPS, "record.lock.duration.ms")


def check_consistency(config: Config) -> None:
    """Raises ConfigError for the first contradiction, with one line: the name, the value, what is allowed."""
    for check in _CHECKS:
        check(config)


def _check_order(config: Config) -> None:
    for smaller, larger in _ORDERED:
        if config.int(smaller) > config.int(larger):
            raise _bad(config, smaller, f"must not exceed {config.shown(larger)}")


def _check_broker_id(config: Config) -> None:
    broker_id = config.int("broker.id")
    if config.boolean("broker.id.generation.enable"):
        if broker_id < -1:
            raise _bad(config, "broker.id", "must be 0 or more, or -1 for an id that the cluster generates")
        if broker_id > config.int("reserved.broker.max.id"):
            allowed = f"must be from -1 to {config.shown('reserved.broker.max.id')}; raise that for higher ids"
            raise _bad(config, "broker.id", allowed)
    elif broker_id < 0:
        raise _bad(config, "broker.id", f"must be 0 or more while {config.shown('broker.id.generation.enable')}")


def _check_times(config: Config) -> None:
    if config.roll_ms < 1:
        raise _bad(config, "log.roll.ms", "must be at least 1")
    if config.roll_jitter_ms < 0:
        raise _bad(config, "log.roll.jitter.ms", "must be at least 0")
    if config.retention_ms == 0:
        names = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
        name = next((name for name in names if config.value(name) is not None), names[0])
        raise _bad(config, name, "must be at least 1, or -1 (for ever)")
    delay_ms = config.int("connection.failed.authentication.delay.ms")
    if 0 <= config.int("connections.max.idle.ms") <= delay_ms:
        raise _bad(
            config,
            "connections.max.idle.ms",
            f"must exceed {config.shown('connection.failed.authentication.delay.ms')}",
        )


def _check_log_dirs(config: Config) -> None:
    name = "log.dirs" if config.is_given("log.dirs") else "log.dir"
    if not config.log_dirs:
        raise _bad(config, name, "must name at least one directory")
    _check_working_directory(config, name, config.log_dirs)
    _check_working_directory(config, "metadata.store.path", [str(config.metadata_store_path)])
    if len({os.path.realpath(directory) for directory in config.log_dirs}) < len(config.log_dirs):
        raise _bad(config, name, "must not name a directory twice")


def _check_working_directory(config: Config, name: str, paths: Iterable[str]) -> None:
    """Relative paths need a working directory."""
    if all(map(os.path.isabs, paths)):
        return
    try:
        os.getcwd()
    except OSError:
        way_out = "start the broker in another one, or name absolute paths"
        raise _bad(config, name, f"the working directory was deleted; {way_out}") from None


def _check_memory(config: Config) -> None:
    if 0 < config.int("queued.max.request.bytes") < config.int("socket.request.max.bytes"):
        least = config.shown("socket.request.max.bytes")
        raise _bad(config, "queued.max.request.bytes", f"must be at least {least}, or -1")
    threads = config.int("log.cleaner.threads")
    if threads and config.int("log.cleaner.dedupe.buffer.size") // threads <= _MIB:
        raise _bad(config, "log.cleaner.dedupe.buffer.size", "must exceed 1048576 for each of log.cleaner.threads")


def _check_connections(config: Config) -> None:
    overrides = config.max_connections_per_ip_overrides
    if config.int("max.connections.per.ip") == 0 and not overrides:
        raise _bad(config, "max.connections.per.ip", "may be 0 only where max.connections.per.ip.overrides is set")
    for host in overrides:
        if not _HOST.fullmatch(host):
            raise _bad(config, "max.connections.per.ip.overrides", f"{host} must be an address or a host name")


def _check_listeners(config: Config) -> None:
    names = [listener.name for listener in config.listeners()]
    advertised = config.advertised_listeners()
    advertised_names = [listener.name for listener in advertised] if advertised is not None else names
    if not set(advertised_names) <= set(names):
        raise _bad(config, "advertised.listeners", f"must use only the names that listeners has: {', '.join(names)}")
    for listener in advertised or ():
        if listener.host == "0.0.0.0":
            allowed = "clients cannot connect to 0.0.0.0; name a host that they can reach, like localhost"
            raise _bad(config, "advertised.listeners", allowed)
    _check_inter_broker_listener(config, advertised_names)


def _no_inter_broker_listener(config: Config, name: str, listeners: str) -> str:
    for given in ("security.inter.broker.protocol", "inter.broker.listener.name"):
        if config.is_given(given):
            return f"{given}={name} ({config.given[given].place}): must be one of the listeners: {listeners}"
    return f"inter.broker.listener.name={name} (the default): it must be set to one of the listeners: {listeners}"


def _check_inter_broker_listener(config: Config, advertised_names: list[str]) -> None:
    name = config.inter_broker_listener_name
    if config.is_given("inter.broker.listener.name") and config.is_given("security.inter.broker.protocol"):
        raise _bad(config, "inter.broker.listener.name", "must not be set together with security.inter.broker.protocol")
    if name not in advertised_names:
        raise ConfigError(_no_inter_broker_listener(config, name, ", ".join(advertised_names)))
    control_plane = config.optional_string("control.plane.listener.name")
    if control_plane is not None:
        if control_plane.upper() not in advertised_names:
            raise _bad(
                config, "control.plane.listener.name", f"must be one of the listeners: {', '.join(advertised_names)}"
            )
        if control_plane.upper() == name:
            raise _bad(config, "control.plane.listener.name", "must differ from the listener between brokers")


def _check_groups(config: Config) -> None:
    if not -1 <= config.int("offsets.commit.required.acks") <= config.int("offsets.topic.replication.factor"):
        raise _bad(
            config,
            "offsets.commit.required.acks",
            f"must be from -1 to {config.shown('offsets.topic.replication.factor')}",
        )
    if not 0 <= config.int("offsets.topic.compression.codec") <= 4:
        raise _bad(
            config, "offsets.topic.compression.codec", "must be 0 (none), 1 (gzip), 2 (snappy), 3 (lz4) or 4 (zstd)"
        )
    protocols = set(config.list("group.coordinator.rebalance.protocols"))
    if not {"classic"} <= protocols <= {"classic", "consumer", "share", "streams"}:
        raise _bad(config, "group.coordinator.rebalance.protocols", "must be classic, perhaps with consumer and share")
    if asks_for_consumer_protocol(config):
        _check_consumer_groups(config)
    if asks_for_share_groups(config):
        _check_bounds(config, "group.share", _BOUNDED_OF_SHARE_GROUPS)


def _check_consumer_groups(config: Config) -> None:
    _check_bounds(config, "group.consumer", _BOUNDED_OF_CONSUMER_GROUPS)
    assignors = config.list("group.consumer.assignors")
    if not assignors or not all(map(assignor_name, assignors)):
        raise _bad(config, "group.consumer.assignors", "must name uniform, range or both; other classes need a JVM")


def _check_bounds(config: Config, prefix: str, names: Sequence[str]) -> None:
    for each in names:
        least, name, most = f"{prefix}.min.{each}", f"{prefix}.{each}", f"{prefix}.max.{each}"
        if not config.int(least) <= config.int(name) <= config.int(most):
            raise _bad(config, name, f"must be from {config.shown(least)} to {config.shown(most)}")
    interval, session = f"{prefix}.heartbeat.interval.ms", f"{prefix}.session.timeout.ms"
    if config.int(interval) >= config.int(session):
        raise _bad(config, interval, f"must be below {config.shown(session)}")


def _check_protocol_version(config: Config) -> None:
    version = metadata_version(config.string("inter.broker.protocol.version"))
    if not is_at_least(version, "3.0-IV0") or is_at_least(version, "4.0-IV0"):
        raise _bad(config, "inter.broker.protocol.version", "must be from 3.0 to 3.9")


def _check_zookeeper(config: Config) -> None:
    """With ZooKeeper, others must be able to reach this broker, and ACLs need an identity of this broker."""
    if config.uses_embedded_store:
        return
    _check_zookeeper_servers(config)
    if config.advertised_listeners() is None:
        for listener in config.listeners():
            if listener.host is not None and is_every_address(listener.host):
                example = f"{listener.name}://<this host>:{listener.port}"
                allowed = f"must be set, because others cannot reach {listener}; for example to {example}"
                raise _bad(config, "advertised.listeners", allowed)
    if config.boolean("zookeeper.set.acl"):
        is_known = config.boolean("zookeeper.ssl.client.enable") and config.is_given("zookeeper.ssl.keystore.location")
        if not is_known and config.optional_string("pybroker.zookeeper.digest") is None:
            needed = "pybroker.zookeeper.digest, or zookeeper.ssl.client.enable with zookeeper.ssl.keystore.location"
            raise _bad(config, "zookeeper.set.acl", f"needs {needed}, so that ZooKeeper can identify this broker")
    credentials = config.optional_string("pybroker.zookeeper.digest")
    if credentials is not None and not re.fullmatch(r"[^:]+:.+", credentials):
        raise _bad(config, "pybroker.zookeeper.digest", "must be user:password")


def _check_zookeeper_servers(config: Config) -> None:
    """Raises ConfigError; empty elements are ignored, as in ZooKeeper's own client."""
    servers = config.string("zookeeper.connect").partition("/")[0].split(",")
    found = [_ZOOKEEPER_SERVER.fullmatch(server.strip()) for server in servers if server.strip()]
    if not found or not all(match and 0 < int(match[1] or 1) <= _MOST_PORT for match in found):
        raise _bad(config, "zookeeper.connect", "must be host:port,…/path, with IPv6 addresses in brackets")


_CHECKS: tuple[Callable[[Config], None], ...] = (
    _check_broker_id,
    _check_log_dirs,
    _check_listeners,
    _check_times,
    _check_order,
    _check_memory,
    _check_connections,
    _check_groups,
    _check_protocol_version,
    _check_zookeeper,
)


def _bad(config: Config, name: str, allowed: str) -> ConfigError:
    return ConfigError(f"{config.shown(name)}: {allowed}")
