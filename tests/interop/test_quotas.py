"""Quotas of a single broker with the embedded store: set and described by kafka-configs, obeyed by librdkafka."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, ThrottleEvent
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from support.clients.good_client import create_topic
from support.clients.kafka_tools import run_tool
from support.clients.wire_client import WireClient

USERS = ["--entity-type", "users", "--entity-name", "ann b", "--entity-type", "clients", "--entity-default"]
CLIENTS = ["--entity-type", "clients", "--entity-name", "slow"]
IPS = ["--entity-type", "ips", "--entity-name", "10.0.0.1"]


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BlockingBroker]:
    with Broker({"log.dirs": str(tmp_path)}) as broker:
        yield broker


def configs(broker: BlockingBroker, *arguments: str) -> str:
    return run_tool("kafka.admin.ConfigCommand", "--bootstrap-server", broker.bootstrap_servers, *arguments).strip()


def alter(broker: BlockingBroker, entity: list[str], quotas: str) -> None:
    configs(broker, "--alter", *entity, "--add-config", quotas)


def test_kafka_configs_sets_describes_and_removes_quotas(broker: BlockingBroker) -> None:
    alter(broker, USERS, "consumer_byte_rate=2000,request_percentage=12.5,controller_mutation_rate=0.25")
    alter(broker, IPS, "connection_creation_rate=3")
    ips = "Quota configs for ip '10.0.0.1' are connection_creation_rate=3.0"
    broker.stop()
    broker.start()
    users = configs(broker, "--describe", "--entity-type", "users", "--entity-type", "clients")
    assert users.startswith("Quota configs for user-principal 'ann b', the default client-id are ")
    assert sorted(users.partition(" are ")[2].split(", ")) == [
        "consumer_byte_rate=2000.0",
        "controller_mutation_rate=0.25",
        "request_percentage=12.5",
    ]
    assert configs(broker, "--describe", "--entity-type", "ips") == ips
    configs(
        broker, "--alter", *USERS, "--delete-config", "consumer_byte_rate,request_percentage,controller_mutation_rate"
    )
    assert configs(broker, "--describe", "--entity-type", "users", "--entity-type", "clients") == ""


def test_throttled_clients_are_told_and_lose_no_record(broker: BlockingBroker) -> None:
    with WireClient(broker.bootstrap_servers) as client:
        create_topic(client, "t")
    alter(broker, CLIENTS, "producer_byte_rate=10000,consumer_byte_rate=10000")
    throttled: list[ThrottleEvent] = []
    given = {"bootstrap.servers": broker.bootstrap_servers, "client.id": "slow", "throttle_cb": throttled.append}
    producer = Producer({**given, "linger.ms": 0, "batch.size": 4000})
    values = [b"%d" % number + b"x" * 3_000 for number in range(40)]
    for value in values:
        producer.produce("t", value)
        producer.poll(0)
    assert producer.flush(30) == 0
    assert any(event.throttle_time > 0 for event in throttled)
    throttled.clear()
    consumer = Consumer({**given, "group.id": "g", "auto.offset.reset": "earliest", "max.partition.fetch.bytes": 8_000})
    consumer.subscribe(["t"])
    read: list[bytes | None] = []
    while len(read) < len(values):
        message = consumer.poll(30)
        assert message is not None, f"{len(read)} records within time"
        assert message.error() is None
        read.append(message.value())
    consumer.close()
    assert read == values
    assert any(event.throttle_time > 0 for event in throttled)
