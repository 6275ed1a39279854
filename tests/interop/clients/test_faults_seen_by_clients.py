"""Faults as clients see them: the error codes that they report, and records that are written once.

librdkafka answers a DescribeAcls that failed with an empty list, so that kafka-python stands in for it.
"""

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest
from confluent_kafka import (
    Consumer,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaAdminClient
from kafka.admin import ACLFilter, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourcePatternFilter
from kafka.admin import NewTopic as NewTopicOfKafkaPython
from kafka.admin import ResourceType as ResourceTypeOfKafkaPython
from kafka.errors import PolicyViolationError
from pybroker import Broker
from pybroker.broker.library.broker import BlockingBroker
from pybroker.protocol.errors import ErrorCode
from support.clients.foreign_clients import client_command

CODE = ErrorCode.POLICY_VIOLATION
"""Clients do not retry it."""
TOPIC = "t"


@pytest.fixture(scope="module")
def broker() -> Iterator[BlockingBroker]:
    settings = {
        "offsets.topic.num.partitions": "1",
        "authorizer.class.name": "kafka.security.authorizer.AclAuthorizer",
        "allow.everyone.if.no.acl.found": "true",
        "super.users": "User:ANONYMOUS",
    }
    with Broker(settings) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
        for created in admin.create_topics([NewTopic(TOPIC, 1)]).values():
            created.result(30)
        consumer = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g"})
        consumer.commit(offsets=[TopicPartition(TOPIC, 0, 0)], asynchronous=False)
        consumer.close()
        yield broker


@pytest.fixture(autouse=True)
def no_fault_is_left(broker: BlockingBroker) -> Iterator[None]:
    yield
    broker.faults.clear()


def test_kafka_python_raises_the_error_of_describe_acls(broker: BlockingBroker) -> None:
    every = ResourcePatternFilter(ResourceTypeOfKafkaPython.ANY, None, ACLResourcePatternType.ANY)
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    try:
        with broker.faults.error("DescribeAcls", CODE.name), pytest.raises(PolicyViolationError):
            admin.describe_acls(ACLFilter(None, "*", ACLOperation.ANY, ACLPermissionType.ANY, every))
    finally:
        admin.close()


def test_kafka_python_raises_the_error_of_the_fault(broker: BlockingBroker) -> None:
    admin = KafkaAdminClient(bootstrap_servers=broker.bootstrap_servers)
    try:
        with broker.faults.error("CreateTopics", CODE.name, topic="refused") as fault:
            with pytest.raises(PolicyViolationError):
                admin.create_topics([NewTopicOfKafkaPython("refused", 1, 1)])
            admin.create_topics([NewTopicOfKafkaPython("created", 1, 1)])
        assert fault.fired == 1
        assert "refused" not in admin.list_topics()
    finally:
        admin.close()


@pytest.mark.parametrize("is_idempotent", [False, True])
def test_lost_response_makes_a_duplicate_of_librdkafka_unless_it_is_idempotent(
    broker: BlockingBroker, is_idempotent: bool
) -> None:
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    watcher = Consumer({**servers, "group.id": "watcher"})
    before = watcher.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=30)[1]
    producer = Producer({**servers, "enable.idempotence": is_idempotent, "acks": "all"})
    delivered: list[Any] = []
    with broker.faults.drop_response("Produce", topic=TOPIC, times=1) as fault:
        producer.produce(TOPIC, b"once", on_delivery=lambda error, _message: delivered.append(error))
        producer.flush(30)
    assert fault.fired == 1
    assert delivered == [None]
    after = watcher.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=30)[1]
    watcher.close()
    assert after - before == (1 if is_idempotent else 2)


def test_librdkafka_reads_on_after_each_kind_of_trouble(broker: BlockingBroker) -> None:
    servers = {"bootstrap.servers": broker.bootstrap_servers}
    producer = Producer(servers)
    producer.produce(TOPIC, b"value")
    producer.flush(30)
    consumer = Consumer({**servers, "group.id": "reader", "reconnect.backoff.max.ms": 100, "check.crcs": True})
    end = consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=30)[1]
    faults = [
        broker.faults.error("Fetch", "NOT_LEADER_OR_FOLLOWER", topic=TOPIC, times=2),
        broker.faults.drop_response("Fetch", times=1),
        broker.faults.cut_after("Fetch", 10, times=1),
        broker.faults.reset("Fetch", times=1),
    ]
    consumer.assign([TopicPartition(TOPIC, 0, end - 1)])
    message = consumer.poll(60)
    while message is not None and message.error():
        message = consumer.poll(60)
    consumer.close()
    assert message is not None
    assert message.offset() == end - 1
    assert [fault.fired for fault in faults] == [2, 1, 1, 1]


@pytest.mark.long
@pytest.mark.parametrize("name", ["go", "java"])
def test_clients_in_other_languages_see_the_faults(broker: BlockingBroker, name: str) -> None:
    """They report the error code of a refused request, and write and read each record once despite lost responses."""
    command = client_command(name)

    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        line = [*command, arguments[0], broker.bootstrap_servers, *arguments[1:]]
        return subprocess.run(line, capture_output=True, text=True, check=False)

    topic = f"of-{name}"
    with broker.faults.error("CreateTopics", CODE.name, topic=topic) as fault:
        refused = run("create", topic, "1")
    assert fault.fired == 1
    assert refused.returncode != 0
    assert "policy" in (refused.stdout + refused.stderr).lower().replace("_", "")
    assert run("create", topic, "1").returncode == 0
    faults = [
        broker.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic=topic, times=2),
        broker.faults.drop_response("Produce", times=1),
        broker.faults.reset("Produce", times=1),
        broker.faults.cut_after("Produce", 10, times=1),
        broker.faults.error("Fetch", "NOT_LEADER_OR_FOLLOWER", topic=topic, times=2),
        broker.faults.drop_response("Fetch", times=1),
        broker.faults.cut_after("Fetch", 10, times=1),
        broker.faults.error("OffsetCommit", "COORDINATOR_NOT_AVAILABLE", group=topic, times=1),
    ]
    produced = run("produce", topic, "0", "20")
    assert produced.returncode == 0, produced.stderr
    consumed = run("consume", topic, topic, "20")
    assert consumed.returncode == 0, consumed.stderr
    records = [json.loads(line) for line in consumed.stdout.splitlines()]
    assert [record["value"] for record in records] == [f"value-{n}" for n in range(20)]
    assert [fault.fired for fault in faults] == [2, 1, 1, 1, 2, 1, 1, 1]
