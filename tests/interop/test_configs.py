"""Tests of changing and describing settings at run time, by Kafka's tools, kafka-python and plain requests.

In Kafka a change needs a moment to take effect, so tests poll for it. In pybroker it is immediate, which has its own
test.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType
from kafka.errors import InvalidConfigurationError
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pybroker.protocol.messages.describe_cluster import DescribeClusterRequest
from pybroker.protocol.messages.describe_configs import DescribeConfigsResourceResult
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.records.record import Record, build_batch
from support.clients.config_requests import (
    APPEND,
    BROKER,
    DEFAULT,
    DELETE,
    LOGGER,
    OF_ALL_BROKERS,
    OF_BROKER,
    OF_FILE,
    OF_LOGGER,
    OF_TOPIC,
    SET,
    SUBTRACT,
    TOPIC,
    Change,
    Resource,
    alter,
    describe,
    layers,
    replace,
)
from support.clients.tool_server import run_main
from support.clients.wire_client import WireClient
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.time.patience import await_answer

SETTINGS = {
    "broker.id": "0",
    "log.retention.hours": "100",
    "log.retention.check.interval.ms": "200",
    "log.initial.task.delay.ms": "100",
}
THIS_BROKER = Resource(BROKER, "0")
ALL_BROKERS = Resource(BROKER, "")
TOPIC_NUMBERS = count()
HOUR_MS = 3_600_000
Answer = TypeVar("Answer")


class Broker(Protocol):
    @property
    def bootstrap_servers(self) -> str: ...
    def start(self) -> object: ...
    def stop(self) -> object: ...


@pytest.fixture(scope="module")
def broker(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker whose settings no other file relies on."""
    directory = tmp_path_factory.mktemp("configs")
    if request.config.getoption("--against-kafka"):
        zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
        kafka = KafkaProcess(directory / "kafka", zookeeper, SETTINGS).start()
        yield kafka
        kafka.stop()
        zookeeper.kill()
    else:
        with BrokerProcess(directory, SETTINGS) as process:
            yield process


@pytest.fixture
def client(broker: Broker) -> Iterator[WireClient]:
    """A client; after the test all dynamic broker settings are removed."""
    with WireClient(broker.bootstrap_servers) as connected:
        yield connected
    with WireClient(broker.bootstrap_servers) as connected:
        assert codes(connected.ask(replace((THIS_BROKER, {}), (ALL_BROKERS, {})), 2)) == [0, 0]
        until(lambda: described(connected, ALL_BROKERS), lambda entries: not entries)
        until(
            lambda: described(connected, THIS_BROKER),
            lambda entries: OF_BROKER not in {entry.config_source for entry in entries.values()},
        )


@pytest.fixture
def topic(client: WireClient) -> Resource:
    """A new topic with one setting."""
    return create(client, f"configs-{next(TOPIC_NUMBERS)}", segment_bytes="20000")


def create(client: WireClient, name: str, **settings: str) -> Resource:
    wish = CreatableTopic(
        name=name,
        num_partitions=1,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in settings.items()],
    )
    code = until(
        lambda: client.ask(CreateTopicsRequest(topics=[wish], timeout_ms=30_000), 5).topics[0].error_code,
        lambda code: code != ErrorCode.INVALID_REPLICATION_FACTOR,  # Kafka does not know its own registration yet
    )
    assert code == ErrorCode.NONE
    return Resource(TOPIC, name)


def codes(answer: Any) -> list[int]:
    return [response.error_code for response in answer.responses]


def described(
    client: WireClient, resource: Resource, *names: str, version: int = 4
) -> dict[str, DescribeConfigsResourceResult]:
    (result,) = client.ask(describe(resource, *names, synonyms=version > 0, documentation=version > 2), version).results
    assert (result.error_code, result.resource_type, result.resource_name) == (0, *resource)
    return {entry.name: entry for entry in result.configs}


def until(ask: Callable[[], Answer], is_so: Callable[[Answer], bool]) -> Answer:
    """Polls until the condition holds."""
    return await_answer(ask, is_so, "a change in force")


def set_now(client: WireClient, resource: Resource, **settings: str) -> None:
    """Changes settings and waits until they are in force. Names have underscores for dots."""
    wanted = {name.replace("_", "."): value for name, value in settings.items()}
    changes = [Change(name, SET, value) for name, value in wanted.items()]
    assert codes(client.ask(alter((resource, changes)), 1)) == [0]
    until(
        lambda: described(client, resource, *wanted),
        lambda entries: {name: entry.value for name, entry in entries.items()} == wanted,
    )


def config_command(broker: Broker, *arguments: str, expected: int = 0) -> str:
    done = run_main("kafka.admin.ConfigCommand", "--bootstrap-server", broker.bootstrap_servers, *arguments)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout + done.stderr


# -- topics


@pytest.mark.parametrize("version", range(5))
def test_settings_of_a_topic_are_described(client: WireClient, topic: Resource, version: int) -> None:
    entries = described(client, topic, version=version)
    assert {entry.read_only for entry in entries.values()} == {False}
    segment, retention, policy = entries["segment.bytes"], entries["retention.ms"], entries["cleanup.policy"]
    assert (segment.value, retention.value, policy.value) == ("20000", str(100 * HOUR_MS), "delete")
    if version > 0:
        assert [one.config_source for one in (segment, retention, policy)] == [OF_TOPIC, DEFAULT, DEFAULT]
        assert layers(segment) == [("segment.bytes", "20000", OF_TOPIC), ("log.segment.bytes", "1073741824", DEFAULT)]
        assert layers(retention) == []
    if version > 2:
        assert [one.config_type for one in (segment, retention, policy)] == [3, 5, 7]
        assert segment.documentation


def test_only_requested_settings_are_described(client: WireClient, topic: Resource) -> None:
    assert set(described(client, topic, "retention.ms", "no.such.setting")) == {"retention.ms"}


def test_topic_settings_can_be_set_deleted_appended_and_subtracted(client: WireClient, topic: Resource) -> None:
    set_now(client, topic, retention_ms="77")
    assert described(client, topic, "segment.bytes")["segment.bytes"].value == "20000"
    changes = [Change("retention.ms", DELETE), Change("cleanup.policy", APPEND, "compact")]
    assert codes(client.ask(alter((topic, changes)), 1)) == [0]
    entries = described(client, topic, "retention.ms", "cleanup.policy")
    assert (entries["retention.ms"].config_source, entries["cleanup.policy"].value) == (DEFAULT, "delete,compact")
    assert codes(client.ask(alter((topic, [Change("cleanup.policy", SUBTRACT, "delete")])), 0)) == [0]
    assert described(client, topic, "cleanup.policy")["cleanup.policy"].value == "compact"


def test_alter_configs_replaces_all_settings_of_a_topic(client: WireClient, topic: Resource) -> None:
    for version in range(3):
        assert codes(client.ask(replace((topic, {"retention.ms": str(version)})), version)) == [0]
        entries = described(client, topic)
        assert (entries["retention.ms"].value, entries["segment.bytes"].config_source) == (str(version), DEFAULT)


def test_validate_only_changes_nothing(client: WireClient, topic: Resource) -> None:
    wishes = alter((topic, [Change("segment.bytes", DELETE)]), validate_only=True)
    assert codes(client.ask(wishes, 1)) == [0]
    bad = alter((topic, [Change("segment.bytes", SET, "1")]), validate_only=True)
    assert codes(client.ask(bad, 1)) == [ErrorCode.INVALID_CONFIG]
    assert codes(client.ask(replace((topic, {}), validate_only=True), 2)) == [0]
    assert described(client, topic, "segment.bytes")["segment.bytes"].value == "20000"


def test_changed_max_message_bytes_of_a_topic_is_in_force(client: WireClient, topic: Resource) -> None:
    until(lambda: produce(client, topic, 5000), lambda code: code == ErrorCode.NONE)
    set_now(client, topic, max_message_bytes="3000")
    until(lambda: produce(client, topic, 5000), lambda code: code == ErrorCode.MESSAGE_TOO_LARGE)
    assert produce(client, topic, 500) == ErrorCode.NONE


def test_changed_retention_of_a_topic_is_in_force(client: WireClient, topic: Resource, broker: Broker) -> None:
    until(lambda: produce(client, topic, 9000), lambda code: code == ErrorCode.NONE)
    for _ in range(9):
        assert produce(client, topic, 9000) == ErrorCode.NONE
    consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers)
    partition = TopicPartition(topic.name, 0)
    assert consumer.beginning_offsets([partition])[partition] == 0
    set_now(client, topic, retention_bytes="30000")
    start = until(lambda: consumer.beginning_offsets([partition])[partition], lambda offset: offset > 0)
    assert start <= 7, "what is left holds at least 30,000 bytes"
    consumer.close()


def produce(client: WireClient, topic: Resource, size: int) -> int:
    """Produces one record; returns the error code."""
    records = build_batch([Record(0, time.time_ns() // 1_000_000, None, b"x" * size)])
    partition = PartitionProduceData(index=0, records=records)
    request = ProduceRequest(
        acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name=topic.name, partition_data=[partition])]
    )
    code: int = client.ask(request, 9).responses[0].partition_responses[0].error_code
    return code


# -- brokers


def test_settings_of_a_broker_are_described(client: WireClient) -> None:
    entries = described(client, THIS_BROKER)
    broker_id, threads, hours = entries["broker.id"], entries["num.io.threads"], entries["log.retention.hours"]
    assert (broker_id.value, broker_id.read_only, broker_id.config_source) == ("0", True, OF_FILE)
    assert (threads.value, threads.read_only, threads.config_source) == ("8", False, DEFAULT)
    assert layers(hours) == [("log.retention.hours", "100", OF_FILE), ("log.retention.hours", "168", DEFAULT)]
    password = entries["ssl.keystore.password"]
    assert (password.value, password.is_sensitive, password.config_type) == (None, True, 9)
    assert described(client, ALL_BROKERS) == {}


def test_broker_setting_overrides_cluster_default(client: WireClient, topic: Resource) -> None:
    set_now(client, ALL_BROKERS, log_retention_ms="5000")
    set_now(client, THIS_BROKER, log_retention_ms="6000")
    below = [("log.retention.hours", "100", OF_FILE), ("log.retention.hours", "168", DEFAULT)]
    retention = described(client, THIS_BROKER, "log.retention.ms")["log.retention.ms"]
    assert (retention.value, retention.config_source) == ("6000", OF_BROKER)
    both = [("log.retention.ms", "6000", OF_BROKER), ("log.retention.ms", "5000", OF_ALL_BROKERS), *below]
    assert layers(retention) == both
    of_topic = until(
        lambda: described(client, topic, "retention.ms")["retention.ms"], lambda entry: entry.value == "6000"
    )
    assert layers(of_topic) == both
    for_all = described(client, ALL_BROKERS)["log.retention.ms"]
    assert layers(for_all) == [("log.retention.ms", "5000", OF_ALL_BROKERS)]
    assert codes(client.ask(alter((THIS_BROKER, [Change("log.retention.ms", DELETE)])), 1)) == [0]
    retention = until(
        lambda: described(client, THIS_BROKER, "log.retention.ms")["log.retention.ms"],
        lambda entry: entry.value == "5000",
    )
    assert layers(retention) == [("log.retention.ms", "5000", OF_ALL_BROKERS), *below]


def test_listener_setting_falls_back_to_the_general_one(client: WireClient) -> None:
    name = "listener.name.plaintext.max.connections"
    set_now(client, ALL_BROKERS, **{name.replace(".", "_"): "1000"})
    entry = until(lambda: described(client, THIS_BROKER, name).get(name), lambda found: found is not None)
    assert entry is not None
    assert layers(entry) == [(name, "1000", OF_ALL_BROKERS), ("max.connections", "2147483647", DEFAULT)]


def test_dynamic_only_settings_are_described(client: WireClient) -> None:
    set_now(client, THIS_BROKER, leader_replication_throttled_rate="1000")
    entry = described(client, THIS_BROKER, "leader.replication.throttled.rate")["leader.replication.throttled.rate"]
    assert (entry.value, entry.config_source, entry.is_sensitive, entry.config_type) == ("1000", OF_BROKER, False, 5)


def test_value_of_an_unknown_setting_is_hidden(client: WireClient) -> None:
    assert codes(client.ask(alter((THIS_BROKER, [Change("plugin.secret", SET, "hunter2")])), 1)) == [0]
    entry = until(
        lambda: described(client, THIS_BROKER, "plugin.secret").get("plugin.secret"), lambda found: found is not None
    )
    assert entry is not None
    assert (entry.value, entry.is_sensitive, entry.config_type) == (None, True, 0)
    assert layers(entry) == [("plugin.secret", None, OF_BROKER)]


def test_changed_message_max_bytes_applies_to_topics_without_their_own(client: WireClient, topic: Resource) -> None:
    until(lambda: produce(client, topic, 5000), lambda code: code == ErrorCode.NONE)
    set_now(client, ALL_BROKERS, message_max_bytes="3000")
    until(lambda: produce(client, topic, 5000), lambda code: code == ErrorCode.MESSAGE_TOO_LARGE)
    set_now(client, topic, max_message_bytes="9000")
    until(lambda: produce(client, topic, 5000), lambda code: code == ErrorCode.NONE)


def test_metadata_has_the_changed_advertised_address(client: WireClient, broker: Broker) -> None:
    def address() -> tuple[str, int]:
        (found,) = client.ask(DescribeClusterRequest(), 0).brokers
        return found.host, found.port

    port = int(broker.bootstrap_servers.rpartition(":")[2])
    assert address() == ("127.0.0.1", port)
    set_now(client, THIS_BROKER, advertised_listeners=f"PLAINTEXT://localhost:{port}")
    until(address, lambda found: found == ("localhost", port))
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    assert admin.describe_cluster()["brokers"][0]["host"] == "localhost"
    admin.close()
    assert codes(client.ask(alter((THIS_BROKER, [Change("advertised.listeners", DELETE)])), 1)) == [0]
    until(address, lambda found: found == ("127.0.0.1", port))


# -- loggers


def test_logger_level_can_be_set_and_unset(client: WireClient) -> None:
    loggers = Resource(LOGGER, "0")
    levels = described(client, loggers)
    assert levels["root"].value == "INFO"
    assert {entry.config_source for entry in levels.values()} == {OF_LOGGER}
    name = next(name for name, entry in levels.items() if entry.value == "INFO" and name != "root")
    for level in ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"):
        assert codes(client.ask(alter((loggers, [Change(name, SET, level)])), 1)) == [0]
        assert described(client, loggers, name)[name].value == level
    assert codes(client.ask(alter((loggers, [Change(name, DELETE)]), validate_only=True), 1)) == [0]
    assert described(client, loggers, name)[name].value == "FATAL"
    assert codes(client.ask(alter((loggers, [Change(name, DELETE)])), 1)) == [0]
    assert described(client, loggers, name)[name].value == "INFO"


# -- refusals


@pytest.mark.parametrize(
    ("resource", "change", "expected"),
    [
        (Resource(TOPIC, "nowhere"), Change("retention.ms", SET, "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (Resource(TOPIC, "a/b"), Change("retention.ms", SET, "1"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (Resource(TOPIC, ""), Change("retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (Resource(BROKER, "7"), Change("log.retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (Resource(BROKER, "seven"), Change("log.retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (THIS_BROKER, Change("log.retention.ms", SET, "long"), ErrorCode.INVALID_REQUEST),
        (THIS_BROKER, Change("log.retention.ms", SET, "0"), ErrorCode.INVALID_REQUEST),
        (THIS_BROKER, Change("num.io.threads", SET, "0"), ErrorCode.INVALID_REQUEST),
        (THIS_BROKER, Change("num.io.threads", SET, "17"), ErrorCode.INVALID_REQUEST),
        (THIS_BROKER, Change("num.io.threads", SET, "3"), ErrorCode.INVALID_REQUEST),
        (THIS_BROKER, Change("num.io.threads", APPEND, "3"), ErrorCode.INVALID_CONFIG),
        (THIS_BROKER, Change("log.retention.ms", 9, "1"), ErrorCode.INVALID_REQUEST),
        (THIS_BROKER, Change("log.retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (THIS_BROKER, Change("num.partitions", SET, "3"), ErrorCode.INVALID_REQUEST),
        (THIS_BROKER, Change("log.retention.hours", SET, "3"), ErrorCode.INVALID_REQUEST),
        (THIS_BROKER, Change("max.connections", SET, "0"), ErrorCode.INVALID_REQUEST),
        (THIS_BROKER, Change("ssl.keystore.location", SET, "x"), ErrorCode.INVALID_REQUEST),
        (ALL_BROKERS, Change("num.partitions", SET, "3"), ErrorCode.INVALID_REQUEST),
        (ALL_BROKERS, Change("max.connections.per.ip", SET, "0"), ErrorCode.INVALID_REQUEST),
        (ALL_BROKERS, Change("max.connections.per.ip.overrides", SET, "here"), ErrorCode.INVALID_REQUEST),
        (ALL_BROKERS, Change("leader.replication.throttled.rate", SET, "-1"), ErrorCode.INVALID_REQUEST),
        (ALL_BROKERS, Change("advertised.listeners", SET, "PLAINTEXT://here:1"), ErrorCode.INVALID_REQUEST),
        (THIS_BROKER, Change("advertised.listeners", SET, "OTHER://here:1"), ErrorCode.INVALID_REQUEST),
        (Resource(LOGGER, "0"), Change("no.such.logger", SET, "INFO"), ErrorCode.INVALID_CONFIG),
        (Resource(LOGGER, "0"), Change("root", SET, "info"), ErrorCode.INVALID_CONFIG),
        (Resource(LOGGER, "0"), Change("root", DELETE), ErrorCode.INVALID_REQUEST),
        (Resource(LOGGER, "0"), Change("root", APPEND, "INFO"), ErrorCode.INVALID_REQUEST),
        (Resource(LOGGER, "7"), Change("root", SET, "INFO"), ErrorCode.INVALID_REQUEST),
        (Resource(LOGGER, ""), Change("root", SET, "INFO"), ErrorCode.INVALID_REQUEST),
        (Resource(1, "x"), Change("retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (Resource(16, "x"), Change("interval.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
        (Resource(77, "x"), Change("retention.ms", SET, "1"), ErrorCode.INVALID_REQUEST),
    ],
    ids=str,
)
def test_invalid_broker_setting_is_refused(
    client: WireClient, resource: Resource, change: Change, expected: ErrorCode
) -> None:
    (response,) = client.ask(alter((resource, [change])), 1).responses
    assert response.error_code == expected
    assert response.error_message
    assert (response.resource_type, response.resource_name) == resource


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (Change("retention.ms", SET, "long"), ErrorCode.INVALID_CONFIG),
        (Change("retention.ms", SET, "-2"), ErrorCode.INVALID_CONFIG),
        (Change("no.such.setting", SET, "1"), ErrorCode.INVALID_CONFIG),
        (Change("no.such.setting", DELETE), ErrorCode.NONE),
        (Change("retention.ms", APPEND, "1"), ErrorCode.INVALID_CONFIG),
        (Change("retention.ms", SUBTRACT, "1"), ErrorCode.INVALID_CONFIG),
        (Change("retention.ms", SET, None), ErrorCode.INVALID_REQUEST),
        (Change("min.compaction.lag.ms", SET, "9223372036854775807"), ErrorCode.NONE),
        (Change("remote.storage.enable", SET, "true"), ErrorCode.INVALID_CONFIG),
    ],
    ids=str,
)
def test_invalid_topic_setting_is_refused(
    client: WireClient, topic: Resource, change: Change, expected: ErrorCode
) -> None:
    (response,) = client.ask(alter((topic, [change])), 1).responses
    assert (response.error_code, response.error_message is None) == (expected, expected is ErrorCode.NONE)


def test_contradictory_settings_are_refused(client: WireClient, topic: Resource) -> None:
    changes = [Change("min.compaction.lag.ms", SET, "9"), Change("max.compaction.lag.ms", SET, "8")]
    assert codes(client.ask(alter((topic, changes)), 1)) == [ErrorCode.INVALID_CONFIG]
    assert codes(client.ask(replace((topic, {"retention.ms": "x"})), 2)) == [ErrorCode.INVALID_CONFIG]
    assert codes(client.ask(replace((Resource(LOGGER, "0"), {"root": "INFO"})), 2)) == [ErrorCode.INVALID_REQUEST]
    assert codes(client.ask(replace((topic, {"retention.ms": None})), 2)) == [ErrorCode.INVALID_REQUEST]


def test_duplicate_settings_or_resources_are_refused_and_others_processed(client: WireClient, topic: Resource) -> None:
    twice = [Change("retention.ms", SET, "1"), Change("retention.ms", DELETE)]
    assert codes(client.ask(alter((topic, twice)), 1)) == [ErrorCode.INVALID_REQUEST]
    once = [Change("retention.ms", SET, "1")]
    answer = client.ask(alter((topic, once), (Resource(TOPIC, "nowhere"), once), (topic, [])), 1)
    assert codes(answer) == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
    ]
    assert described(client, topic, "retention.ms")["retention.ms"].config_source == DEFAULT


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (Resource(TOPIC, "nowhere"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (Resource(TOPIC, "a/b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (Resource(BROKER, "7"), ErrorCode.INVALID_REQUEST),
        (Resource(BROKER, "seven"), ErrorCode.INVALID_REQUEST),
        (Resource(LOGGER, "7"), ErrorCode.INVALID_REQUEST),
        (Resource(LOGGER, ""), ErrorCode.INVALID_REQUEST),
        (Resource(1, "x"), ErrorCode.INVALID_REQUEST),
        (Resource(16, "x"), ErrorCode.INVALID_REQUEST),
    ],
    ids=str,
)
def test_unknown_resources_are_refused_in_describe_configs(
    client: WireClient, resource: Resource, expected: ErrorCode
) -> None:
    (result,) = client.ask(describe(resource), 4).results
    assert (result.error_code, result.configs) == (expected, [])
    assert (result.resource_type, result.resource_name) == resource


# -- Kafka's own command, and restarts


def test_kafka_configs_changes_survive_a_restart(client: WireClient, topic: Resource, broker: Broker) -> None:
    of_topic = ("--entity-type", "topics", "--entity-name", topic.name)
    of_broker = ("--entity-type", "brokers", "--entity-name", "0")
    of_all = ("--entity-type", "brokers", "--entity-default")
    done = config_command(
        broker, *of_topic, "--alter", "--add-config", "retention.ms=7000,cleanup.policy=[compact,delete]"
    )
    assert f"Completed updating config for topic {topic.name}" in done
    done = config_command(broker, *of_broker, "--alter", "--add-config", "log.cleaner.threads=2,num.io.threads=5")
    assert "Completed updating config for broker 0" in done
    done = config_command(broker, *of_all, "--alter", "--add-config", "log.flush.interval.messages=1000")
    assert "Completed updating default config for brokers" in done

    broker.stop()
    broker.start()

    shown = config_command(broker, *of_topic, "--describe")
    assert "retention.ms=7000 sensitive=false synonyms={DYNAMIC_TOPIC_CONFIG:retention.ms=7000}" in shown
    assert "cleanup.policy=compact,delete" in shown
    shown = config_command(broker, "--entity-type", "brokers", "--describe")
    assert (
        "num.io.threads=5 sensitive=false synonyms={DYNAMIC_BROKER_CONFIG:num.io.threads=5, "
        "DEFAULT_CONFIG:num.io.threads=8}" in shown
    )
    assert "log.cleaner.threads=2" in shown
    assert (
        "log.flush.interval.messages=1000 sensitive=false "
        "synonyms={DYNAMIC_DEFAULT_BROKER_CONFIG:log.flush.interval.messages=1000}" in shown
    )
    every = config_command(broker, *of_broker, "--describe", "--all")
    assert "  log.retention.hours=100 sensitive=false" in every
    assert "STATIC_BROKER_CONFIG:log.retention.hours=100" in every

    config_command(broker, *of_topic, "--alter", "--delete-config", "retention.ms")
    config_command(broker, *of_broker, "--alter", "--delete-config", "log.cleaner.threads")
    with WireClient(broker.bootstrap_servers) as again:
        entries = described(again, topic)
        assert (entries["retention.ms"].config_source, entries["cleanup.policy"].value) == (DEFAULT, "compact,delete")
        brokers = until(
            lambda: described(again, THIS_BROKER, "log.cleaner.threads", "num.io.threads"),
            lambda entries: entries["log.cleaner.threads"].config_source == DEFAULT,
        )
        assert brokers["num.io.threads"].value == "5"


def test_kafka_configs_can_not_change_settings_that_need_a_restart(broker: Broker) -> None:
    of_broker = ("--entity-type", "brokers", "--entity-name", "0")
    said = config_command(broker, *of_broker, "--alter", "--add-config", "broker.rack=here", expected=1)
    assert "InvalidRequestException" in said
    assert "broker.rack" in said


def test_kafka_configs_sets_a_logger_level(client: WireClient, broker: Broker) -> None:
    loggers = Resource(LOGGER, "0")
    name = next(name for name, entry in described(client, loggers).items() if name != "root")
    command = ("--entity-type", "broker-loggers", "--entity-name", "0")
    config_command(broker, *command, "--alter", "--add-config", f"{name}=ERROR")
    assert f"{name}=ERROR" in config_command(broker, *command, "--describe")
    config_command(broker, *command, "--alter", "--delete-config", name)
    assert described(client, loggers, name)[name].value == "INFO"


# -- kafka-python


@pytest.mark.parametrize("incremental", [True, False])
def test_kafka_python_admin_client_alters_and_describes_configs(
    topic: Resource, broker: Broker, incremental: bool
) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    wish = ConfigResource(ConfigResourceType.TOPIC, topic.name, {"retention.ms": "7000"})
    admin.alter_configs([wish], incremental=incremental)
    asked = ConfigResource(ConfigResourceType.TOPIC, topic.name, None)
    settings = admin.describe_configs([asked])["topic"][topic.name]
    assert {name: entry["value"] for name, entry in settings.items()} == {
        "retention.ms": "7000",
        "segment.bytes": "20000",
    }
    bad = ConfigResource(ConfigResourceType.TOPIC, topic.name, {"retention.ms": "long"})
    outcome = admin.alter_configs([bad], incremental=incremental)["topic"][topic.name]
    assert InvalidConfigurationError.__name__ in repr(outcome)
    admin.reset_configs([ConfigResource(ConfigResourceType.TOPIC, topic.name, ["retention.ms"])])
    assert set(admin.describe_configs([asked])["topic"][topic.name]) == {"segment.bytes"}
    admin.close()


# -- pybroker alone


def test_change_is_in_force_when_it_is_acknowledged(tmp_path: Path) -> None:
    with BrokerProcess(tmp_path, {"broker.id": "0"}) as broker, WireClient(broker.bootstrap_servers) as client:
        topic = create(client, "words")
        for limit, code in (("9000", ErrorCode.NONE), ("3000", ErrorCode.MESSAGE_TOO_LARGE), ("9000", ErrorCode.NONE)):
            assert codes(client.ask(alter((ALL_BROKERS, [Change("message.max.bytes", SET, limit)])), 1)) == [0]
            assert produce(client, topic, 5000) == code
        assert codes(client.ask(replace((topic, {"max.message.bytes": "3000"})), 2)) == [0]
        assert produce(client, topic, 5000) == ErrorCode.MESSAGE_TOO_LARGE


def test_properties_file_is_read_again_on_sighup(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path, {"broker.id": "0", "num.io.threads": "4", "message.max.bytes": "9000"})
    with broker, WireClient(broker.bootstrap_servers) as client:
        broker.settings |= {"num.io.threads": "3", "num.partitions": "9", "message.max.bytes": "3000"}
        set_now(client, THIS_BROKER, message_max_bytes="7000")
        (tmp_path / "server.properties").write_text(broker.properties())
        os.kill(broker.pid, signal.SIGHUP)
        entry = until(
            lambda: described(client, THIS_BROKER, "num.io.threads")["num.io.threads"],
            lambda entry: entry.value != "4",
        )
        assert layers(entry) == [("num.io.threads", "3", OF_FILE), ("num.io.threads", "8", DEFAULT)]
        entries = described(client, THIS_BROKER, "num.partitions", "message.max.bytes")
        assert entries["num.partitions"].value == "1"
        assert layers(entries["message.max.bytes"])[:2] == [
            ("message.max.bytes", "7000", OF_BROKER),
            ("message.max.bytes", "3000", OF_FILE),
        ]
    told = [line for line in broker.lines if "dynamic_config" in line]
    assert sum("num.partitions" in line and "needs a restart" in line for line in told) == 1
    assert sum("num.io.threads is 3 now (server.properties line" in line for line in told) == 1


def test_invalid_properties_file_is_ignored_on_sighup(tmp_path: Path) -> None:
    broker = BrokerProcess(tmp_path, {"broker.id": "0"})
    with broker, WireClient(broker.bootstrap_servers) as client:
        file = tmp_path / "server.properties"
        file.write_text(broker.properties() + "message.max.bytes=3000\nnum.io.threads=many\n")
        os.kill(broker.pid, signal.SIGHUP)

        def limit() -> DescribeConfigsResourceResult:
            return described(client, THIS_BROKER, "message.max.bytes")["message.max.bytes"]

        until(limit, lambda _entry: any("num.io.threads=many" in line for line in broker.lines))
        assert limit().config_source == DEFAULT
        file.write_text(broker.properties() + "message.max.bytes=3000\n")
        os.kill(broker.pid, signal.SIGHUP)
        until(limit, lambda entry: entry.value == "3000")
