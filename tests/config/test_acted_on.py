"""Tests that the code reads every setting that is marked as having an effect.

It is read by its own name, by its topic setting's name, or as a value that Config derives.
"""

import re
from pathlib import Path

import pybroker
import pytest
from pybroker.config.setting import Setting, SupportKind
from pybroker.config.table import BROKER_SETTINGS, TOPIC_SETTINGS

ROOT = Path(pybroker.__file__).parent
PACKAGES = ("broker", "controller", "replication", "storage")

# Settings that are read by another expression than their names.
THROUGH = {
    "advertised.listeners": "advertised_listeners",
    "authorizer.class.name": "AuthorizationSettings",
    "connections.max.reauth.ms": "mechanisms_of_listener",
    "group.coordinator.rebalance.protocols": "asks_for_consumer_protocol",
    "group.share.record.lock.duration.ms": '"share.record.lock.duration.ms"',
    "inter.broker.listener.name": "inter_broker_listener_name",
    "listeners": "listeners()",
    "listener.security.protocol.map": "listeners()",
    "log.dir": "log_dirs",
    "log.dirs": "log_dirs",
    "log.flush.scheduler.interval.ms": '"flush.ms"',
    "log.message.timestamp.after.max.ms": "timestamp_after_max_ms",
    "log.message.timestamp.before.max.ms": "timestamp_before_max_ms",
    "log.message.timestamp.difference.max.ms": "timestamp_before_max_ms",
    "log.retention.hours": '"retention.ms"',
    "log.retention.minutes": '"retention.ms"',
    "log.roll.hours": '"segment.ms"',
    "log.roll.jitter.hours": '"segment.jitter.ms"',
    "max.connections.per.ip.overrides": "max_connections_per_ip_overrides",
    "message.timestamp.after.max.ms": "timestamp_after_max_ms",
    "message.timestamp.before.max.ms": "timestamp_before_max_ms",
    "message.timestamp.difference.max.ms": "timestamp_before_max_ms",
    "metadata.store.path": "metadata_store_path",
    "pybroker.sasl.jaas.file": "mechanisms_of_listener",
    "pybroker.sasl.plain.without.tls": "mechanisms_of_listener",
    "pybroker.test.kit": "TEST_KIT",
    "sasl.enabled.mechanisms": "mechanisms_of_listener",
    "sasl.jaas.config": "mechanisms_of_listener",
    "sasl.oauthbearer.jwks.endpoint.refresh.ms": '"refresh"',
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": '"retry.backoff.max"',
    "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": '"retry.backoff"',
    "sasl.oauthbearer.jwks.endpoint.url": '{_JWKS}.url"',
    "sasl.server.callback.handler.class": "mechanisms_of_listener",
    "security.inter.broker.protocol": "inter_broker_listener_name",
    "zookeeper.ssl.enabled.protocols": '{_PREFIX}enabled.protocols"',
    "zookeeper.ssl.keystore.type": '"zookeeper.ssl.keystore"',
    "zookeeper.ssl.protocol": '{_PREFIX}protocol"',
    "zookeeper.ssl.truststore.type": '"zookeeper.ssl.truststore"',
}
# `tests/config/test_config.py` and `test_group_config.py` try the settings that bound others.
BOUNDS_OF_GROUPS = re.compile(r"group\.(consumer|share)\.(min|max)\.[a-z.]+\.ms")
# Acted on by checks in `config/`.
CHECKED_HERE = {
    "broker.id.generation.enable",
    "pybroker.http.insecure",
    "sasl.client.callback.handler.class",
    "sasl.login.callback.handler.class",
    "sasl.login.class",
}


@pytest.fixture(scope="module")
def sources() -> str:
    """The text of every module in PACKAGES."""
    return "".join(
        path.read_text(encoding="utf-8") for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))
    )


ACTED_ON = [
    setting
    for setting in [*BROKER_SETTINGS.values(), *TOPIC_SETTINGS.values()]
    if setting.support.kind is SupportKind.ACTED_ON
    and setting.name not in CHECKED_HERE
    and not BOUNDS_OF_GROUPS.fullmatch(setting.name)
]


@pytest.mark.parametrize("setting", ACTED_ON, ids=lambda setting: setting.name)
def test_setting_marked_as_having_an_effect_is_read_by_the_code(setting: Setting, sources: str) -> None:
    topics = [topic.name for topic in TOPIC_SETTINGS.values() if setting.name in topic.synonyms]
    readings = [f'"{name}"' for name in (setting.name, *topics)] + [THROUGH.get(setting.name, f'"{setting.name}"')]
    assert any(reading in sources for reading in readings)


@pytest.mark.parametrize("name", sorted(CHECKED_HERE))
def test_setting_that_config_checks_is_named_there_outside_of_the_table(name: str) -> None:
    files = (path for path in (ROOT / "config").rglob("*.py") if "settings" not in path.parts)
    assert any(name in path.read_text() for path in files)
