"""The tables of all settings that pybroker knows; each is declared once in ``settings/``."""

from collections.abc import Mapping
from types import MappingProxyType

from .setting import Setting
from .settings import (
    broker,
    cleaner,
    group_overrides,
    group_protocols,
    groups,
    kraft,
    metrics,
    network,
    newer_groups,
    observing,
    own,
    quotas,
    remote_storage,
    replication,
    security,
    storage,
    topic,
    transactions,
    zookeeper,
)

# The sections of the settings page: title and rows.
BROKER_SECTIONS: tuple[tuple[str, tuple[Setting, ...]], ...] = (
    ("Broker", broker.SETTINGS),
    ("Network", network.SETTINGS),
    ("Storage", storage.SETTINGS),
    ("Log cleaner", cleaner.SETTINGS),
    ("Replication", replication.SETTINGS),
    ("Consumer groups", groups.SETTINGS),
    ("Transactions and idempotent producers", transactions.SETTINGS),
    ("Quotas", quotas.SETTINGS),
    ("Metrics", metrics.SETTINGS),
    ("Protection", security.SETTINGS),
    ("ZooKeeper", zookeeper.SETTINGS),
    ("Newer group protocols", group_protocols.SETTINGS),
    ("Groups as in Kafka 4", newer_groups.SETTINGS),
    ("Tiered storage", remote_storage.SETTINGS),
    ("KRaft", kraft.SETTINGS),
    ("pybroker's own", own.SETTINGS),
    ("Metrics of pybroker's own", observing.SETTINGS),
)

BROKER_SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {setting.name: setting for _, rows in BROKER_SECTIONS for setting in rows}
)
DYNAMIC_ONLY_SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {setting.name: setting for setting in quotas.DYNAMIC_ONLY}
)
TOPIC_SETTINGS: Mapping[str, Setting] = MappingProxyType({setting.name: setting for setting in topic.SETTINGS})
GROUP_SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {setting.name: setting for setting in group_overrides.SETTINGS}
)
READ_OUTSIDE_THE_TABLE = frozenset({"super.users", "allow.everyone.if.no.acl.found"})
"""The settings that Kafka's authorizer reads by itself (`config/authorization.py`)."""
