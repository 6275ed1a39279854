"""Requests to change settings: the resulting values, the stored values, and the refused changes."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping
from pathlib import Path

import pytest
from pybroker.broker.settings.altered_config import ALL_BROKERS, AlteredConfig, Operation, OperationType, ResourceType
from pybroker.broker.settings.dynamic_config import DynamicConfig
from pybroker.broker.settings.loggers import LoggerLevels
from pybroker.config.dynamic_layers import DynamicLayers
from pybroker.config.load import load_config
from pybroker.controller.topics.settings_limit import SettingsLimit
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.embedded_store import EmbeddedStore
from pybroker.protocol.errors import (
    InvalidConfigurationError,
    InvalidRequestError,
    PolicyViolationError,
    UnknownTopicOrPartitionError,
)

TOPIC, BROKER, LOGGER = ResourceType.TOPIC, ResourceType.BROKER, ResourceType.BROKER_LOGGER
SET, DELETE, APPEND, SUBTRACT = OperationType


class House:
    """A config admin over a tree. ``in_force`` counts how often it waited for a change to take effect."""

    def __init__(self, tree: ClusterTree) -> None:
        self.tree = tree
        self.in_force = 0
        self.manager = logging.Manager(logging.RootLogger(logging.INFO))
        self.manager.getLogger("kitchen")
        self.dynamic = DynamicConfig(load_config("num.io.threads=4"))
        self.altered = AlteredConfig(
            1,
            tree,
            self.dynamic,
            topic_exists=lambda topic: topic == "t",
            loggers=LoggerLevels(self.manager),
            settings_limit=SettingsLimit(1 << 30, lambda: 0),
            caught_up=self.caught_up,
            has_groups=lambda: True,
        )

    async def caught_up(self) -> None:
        self.in_force += 1

    async def alter(self, resource_type: int, name: str, *operations: Operation, validate_only: bool = False) -> None:
        await self.altered.alter(resource_type, name, operations, validate_only=validate_only)

    async def of_topic(self) -> Mapping[str, str]:
        return await self.tree.config("topics", "t")

    async def store(self, entity_type: str, name: str, **settings: str) -> None:
        wanted = {key.replace("_", "."): value for key, value in settings.items()}
        await self.tree.change_config(entity_type, name, lambda _stored: wanted)


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    store = await EmbeddedStore.open(tmp_path / "metadata.db", lambda: 1_700_000_000_000)
    tree = ClusterTree(store)
    await tree.create_persistent_paths()
    yield House(tree)
    await store.close()


async def test_operations_on_settings_apply_in_order(house: House) -> None:
    await house.alter(TOPIC, "t", Operation("retention.ms", SET, "5"), Operation("segment.bytes", SET, "2000"))
    await house.alter(TOPIC, "t", Operation("retention.ms", DELETE, None), Operation("flush.ms", SET, "7"))
    assert await house.of_topic() == {"segment.bytes": "2000", "flush.ms": "7"}
    assert house.in_force == 2


@pytest.mark.parametrize(
    ("stored", "operation", "value", "expected"),
    [
        (None, APPEND, "compact", "delete,compact"),
        ("compact", APPEND, "delete,compact", "compact,delete"),
        ("", APPEND, "compact", "compact"),
        ("delete, compact", SUBTRACT, "delete", "compact"),
        (None, SUBTRACT, "compact", "delete"),
        ("delete", SUBTRACT, "delete", ""),
    ],
)
async def test_append_and_subtract_change_a_list_setting(
    house: House, stored: str | None, operation: OperationType, value: str, expected: str
) -> None:
    if stored is not None:
        await house.store("topics", "t", cleanup_policy=stored)
    await house.alter(TOPIC, "t", Operation("cleanup.policy", operation, value))
    assert await house.of_topic() == {"cleanup.policy": expected}


async def test_stored_invalid_number_of_threads_can_be_deleted(house: House) -> None:
    await house.store("brokers", ALL_BROKERS, num_replica_fetchers="0")
    stored = await house.tree.config("brokers", ALL_BROKERS)
    house.dynamic.load(DynamicLayers(stored))
    assert house.dynamic.config.int("num.replica.fetchers") == 1
    await house.alter(BROKER, "", Operation("num.replica.fetchers", DELETE, None))
    assert await house.tree.config("brokers", ALL_BROKERS) == {}


async def test_check_is_told_the_settings_that_a_request_names(house: House) -> None:
    told: list[set[str]] = []
    house.dynamic.when_read(lambda _config: None, lambda _config, names: told.append(set(names)))
    await house.store("brokers", "1", num_io_threads="4", message_max_bytes="7")
    house.dynamic.load(DynamicLayers(per_broker=await house.tree.config("brokers", "1")))
    await house.alter(BROKER, "1", Operation("num.io.threads", SET, "4"))
    await house.alter(BROKER, "1", Operation("message.max.bytes", DELETE, None), validate_only=True)
    await house.altered.replace(BROKER, "1", {"num.io.threads": "4", "message.max.bytes": "7"}, validate_only=True)
    assert told == [{"num.io.threads"}, {"message.max.bytes"}, {"num.io.threads", "message.max.bytes"}]


async def test_concurrent_changes_of_settings_are_all_applied(house: House) -> None:
    names = ("retention.ms", "segment.bytes", "flush.ms", "segment.ms")
    await asyncio.gather(*(house.alter(TOPIC, "t", Operation(name, SET, "9000")) for name in names))
    assert await house.of_topic() == dict.fromkeys(names, "9000")


async def test_alter_configs_replaces_all_settings_of_a_topic(house: House) -> None:
    await house.store("topics", "t", retention_ms="5", segment_bytes="2000")
    await house.altered.replace(TOPIC, "t", {"flush.ms": "7"}, validate_only=True)
    assert len(await house.of_topic()) == 2
    await house.altered.replace(TOPIC, "t", {"flush.ms": "7"}, validate_only=False)
    assert await house.of_topic() == {"flush.ms": "7"}
    assert house.in_force == 1


async def test_settings_of_one_broker_and_of_all_brokers_are_stored_separately(house: House) -> None:
    await house.alter(BROKER, "1", Operation("num.io.threads", SET, "5"))
    await house.alter(BROKER, "+01", Operation("message.max.bytes", SET, "6"))
    await house.alter(BROKER, "", Operation("num.io.threads", SET, "6"))
    assert await house.tree.configs("brokers") == {
        "1": {"num.io.threads": "5", "message.max.bytes": "6"},
        "<default>": {"num.io.threads": "6"},
    }


async def test_unusable_stored_settings_do_not_block_changes_of_others(house: House) -> None:
    await house.store("brokers", ALL_BROKERS, num_partitions="5", message_max_bytes="6", num_io_threads="many")
    await house.alter(BROKER, "", Operation("log.segment.bytes", SET, "2000"))
    assert await house.tree.config("brokers", ALL_BROKERS) == {"message.max.bytes": "6", "log.segment.bytes": "2000"}


@pytest.mark.parametrize(
    ("resource_type", "name", "operation", "error"),
    [
        (TOPIC, "nowhere", Operation("retention.ms", SET, "5"), UnknownTopicOrPartitionError),
        (TOPIC, "", Operation("retention.ms", SET, "5"), InvalidRequestError),
        (TOPIC, "t", Operation("retention.ms", SET, "long"), InvalidConfigurationError),
        (TOPIC, "t", Operation("log.retention.ms", SET, "5"), InvalidConfigurationError),
        (TOPIC, "t", Operation("log.cleanup.policy", APPEND, "compact"), InvalidConfigurationError),
        (TOPIC, "t", Operation("retention.ms", SUBTRACT, "5"), InvalidConfigurationError),
        (TOPIC, "t", Operation("retention.ms", 4, "5"), InvalidRequestError),
        (BROKER, "2", Operation("log.retention.ms", SET, "5"), InvalidRequestError),
        (BROKER, "1.0", Operation("log.retention.ms", SET, "5"), InvalidRequestError),
        (BROKER, "1", Operation("num.io.threads", SET, "9"), InvalidRequestError),
        (BROKER, "1", Operation("num.partitions", SET, "9"), InvalidRequestError),
        (BROKER, "1", Operation("num.io.threads", APPEND, "9"), InvalidConfigurationError),
        (BROKER, "1", Operation("plugin.list", APPEND, "9"), InvalidConfigurationError),
        (BROKER, "1", Operation("num.io.threads", -1, "9"), InvalidRequestError),
        (BROKER, "", Operation("advertised.listeners", SET, "PLAINTEXT://here:1"), InvalidRequestError),
        (LOGGER, "1", Operation("garden", SET, "INFO"), InvalidConfigurationError),
        (LOGGER, "1", Operation("garden", DELETE, None), InvalidConfigurationError),
        (LOGGER, "1", Operation("kitchen", SET, "Info"), InvalidConfigurationError),
        (LOGGER, "1", Operation("kitchen", APPEND, "INFO"), InvalidRequestError),
        (LOGGER, "1", Operation("kitchen", 7, "INFO"), InvalidRequestError),
        (LOGGER, "1", Operation("root", DELETE, None), InvalidRequestError),
        (LOGGER, "", Operation("kitchen", SET, "INFO"), InvalidRequestError),
        (ResourceType.CLIENT_METRICS, "m", Operation("interval.ms", SET, "5"), InvalidRequestError),
        (ResourceType.GROUP, "g", Operation("x", SET, "5"), InvalidConfigurationError),
        (0, "t", Operation("retention.ms", SET, "5"), InvalidRequestError),
    ],
    ids=str,
)
@pytest.mark.parametrize("validate_only", [True, False])
async def test_refused_change_writes_nothing(
    house: House, resource_type: int, name: str, operation: Operation, error: type[Exception], validate_only: bool
) -> None:
    good = Operation("kitchen" if resource_type == LOGGER else "flush.ms", SET, "WARN")
    with pytest.raises(error):
        await house.alter(resource_type, name, good, operation, validate_only=validate_only)
    assert await house.tree.store.children("/config/changes") == []
    assert house.manager.getLogger("kitchen").level == logging.NOTSET


async def test_levels_of_loggers_are_set_and_unset_and_never_written(house: House) -> None:
    kitchen = house.manager.getLogger("kitchen")
    await house.alter(LOGGER, "1", Operation("kitchen", SET, "FATAL"), Operation("root", SET, "TRACE"))
    assert (kitchen.level, house.manager.root.level) == (logging.CRITICAL, 5)
    await house.alter(LOGGER, "1", Operation("kitchen", DELETE, ""), validate_only=True)
    assert kitchen.level == logging.CRITICAL
    await house.alter(LOGGER, "1", Operation("kitchen", DELETE, ""))
    assert kitchen.level == logging.NOTSET
    assert await house.tree.store.children("/config/changes") == []
    with pytest.raises(InvalidRequestError):
        await house.altered.replace(LOGGER, "1", {"kitchen": "INFO"}, validate_only=False)


async def test_ineffective_topic_settings_are_logged_when_they_change(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    age, size = "local.retention.ms", "local.retention.bytes"
    await house.alter(TOPIC, "t", Operation(age, SET, "4"), validate_only=True)
    assert caplog.messages == []
    await house.alter(TOPIC, "t", Operation(age, SET, "4"), Operation("retention.ms", SET, "9"))
    assert caplog.messages == [f"topic t: {age}=4 has no effect yet: it needs tiered storage"]
    caplog.clear()
    await house.alter(TOPIC, "t", Operation("flush.ms", SET, "5"))
    assert caplog.messages == [], "it has not changed"
    await house.altered.replace(TOPIC, "t", {age: "5", size: "-2"}, validate_only=False)
    assert caplog.messages == [f"topic t: {age}=5 has no effect yet: it needs tiered storage"]
    caplog.clear()
    await house.altered.replace(TOPIC, "t", {"message.format.version": "2.8"}, validate_only=False)
    (line,) = caplog.messages
    assert line.startswith("topic t: message.format.version=2.8 has no effect: ")


async def test_each_change_is_logged_in_one_line_without_values_of_unknown_settings(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    await house.alter(BROKER, "1", Operation("plugin.secret", SET, "hunter2"), Operation("log.retention.ms", SET, "5"))
    await house.altered.replace(TOPIC, "t", {}, validate_only=False)
    assert [record.getMessage() for record in caplog.records] == [
        "settings of brokers/1: plugin.secret=[hidden], log.retention.ms=5",
        "settings of topics/t: none of its own",
    ]


async def test_list_setting_does_not_grow_longer_than_a_response_can_show(house: House) -> None:
    name = "leader.replication.throttled.replicas"
    first, second = (",".join(f"{n}:1" for n in range(start, start + 3000)) for start in (10_000, 20_000))
    await house.alter(TOPIC, "t", Operation(name, APPEND, first))
    with pytest.raises(InvalidConfigurationError, match="is too long"):
        await house.alter(TOPIC, "t", Operation(name, APPEND, second))
    assert await house.of_topic() == {name: first}
    await house.alter(TOPIC, "t", Operation(name, SUBTRACT, first))
    await house.alter(TOPIC, "t", Operation(name, APPEND, second))
    assert await house.of_topic() == {name: second}


# --- passwords

PASSWORD = "listener.name.ssl.ssl.keystore.password"


def secretive(house: House, text: str) -> House:
    """The house of a broker with other settings."""
    house.dynamic = house.altered._dynamic = DynamicConfig(load_config(text))
    return house


async def test_password_is_stored_encrypted_and_taken_readable(house: House, caplog: pytest.LogCaptureFixture) -> None:
    secretive(house, "password.encoder.secret=s")
    with caplog.at_level(logging.DEBUG):
        await house.alter(BROKER, "1", Operation(PASSWORD, SET, "canary"), Operation("log.cleaner.threads", SET, "2"))
        stored = await house.tree.config("brokers", "1")
        await house.dynamic.take(stored, per_broker=True)
    assert stored.keys() == {PASSWORD, "log.cleaner.threads"}
    assert stored["log.cleaner.threads"] == "2"
    assert "canary" not in stored[PASSWORD] + caplog.text
    assert house.dynamic.config.dynamic.get(PASSWORD) == "canary"


async def test_change_of_another_setting_keeps_a_password(house: House) -> None:
    secretive(house, "password.encoder.secret=s")
    await house.alter(BROKER, "1", Operation(PASSWORD, SET, "canary"))
    await house.alter(BROKER, "1", Operation("log.cleaner.threads", SET, "2"))
    stored = await house.tree.config("brokers", "1")
    assert house.dynamic.passwords.decoded(stored) == {PASSWORD: "canary", "log.cleaner.threads": "2"}
    await house.alter(BROKER, "1", Operation(PASSWORD, DELETE, None))
    assert await house.tree.config("brokers", "1") == {"log.cleaner.threads": "2"}


async def test_password_is_refused_without_a_secret_and_for_all_brokers(house: House) -> None:
    with pytest.raises(InvalidRequestError, match=r"password.encoder.secret, which is not set"):
        await house.alter(BROKER, "1", Operation(PASSWORD, SET, "canary"))
    secretive(house, "password.encoder.secret=s")
    with pytest.raises(InvalidRequestError, match="for single brokers only"):
        await house.alter(BROKER, "", Operation(PASSWORD, SET, "canary"))
    assert await house.tree.config("brokers", "1") == await house.tree.config("brokers", ALL_BROKERS) == {}


async def test_encrypted_passwords_count_with_their_stored_length(house: House) -> None:
    secretive(house, "password.encoder.secret=s\npybroker.broker.settings.max.bytes=1000")
    await house.alter(BROKER, "1", Operation(PASSWORD, SET, "canary"))
    with pytest.raises(PolicyViolationError, match="2 settings have"):
        await house.alter(BROKER, "1", Operation("listener.name.ssl.ssl.key.password", SET, "canary"))


@pytest.mark.parametrize("stored", ["canary", "salt:canary"])
async def test_unreadable_stored_password_is_ignored(
    house: House, stored: str, caplog: pytest.LogCaptureFixture
) -> None:
    for text in ("password.encoder.secret=s", ""):
        caplog.clear()
        secretive(house, text).dynamic.load(DynamicLayers({}, {PASSWORD: stored, "log.cleaner.threads": "2"}))
        assert list(house.dynamic.config.dynamic) == ["log.cleaner.threads"]
        assert f"a password in the metadata is ignored: {PASSWORD}" in caplog.text
        assert "canary" not in caplog.text
