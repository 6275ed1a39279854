"""Faults as applications of stock clients see them: what is reported, and records that are written once."""

import json
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._config import ConfigResource
from confluent_kafka.admin._resource import ResourceType
from confluent_kafka.cimpl import NewTopic
from kafka import KafkaAdminClient, KafkaConsumer
from kafka import TopicPartition as PartitionOfKafkaPython
from kafka.admin import ACLFilter, ACLOperation, ACLPermissionType, ACLResourcePatternType, ResourcePatternFilter
from kafka.admin import NewTopic as NewTopicOfKafkaPython
from kafka.admin import ResourceType as ResourceTypeOfKafkaPython
from kafka.errors import CorruptRecordError, PolicyViolationError
from pybroker import Broker
from pybroker.broker.faults.fault import Fault
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


BREAKS: dict[str, Callable[[BlockingBroker], Fault]] = {
    "drop_request": lambda broker: broker.faults.drop_request("DescribeConfigs"),
    "drop_response": lambda broker: broker.faults.drop_response("DescribeConfigs"),
    "cut_after": lambda broker: broker.faults.cut_after("DescribeConfigs", 6),
    "reset": lambda broker: broker.faults.reset("DescribeConfigs"),
}


@pytest.mark.parametrize("kind", BREAKS)
def test_librdkafka_reports_a_lost_connection(broker: BlockingBroker, kind: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap_servers})
    described = ConfigResource(ResourceType.TOPIC, TOPIC)
    with BREAKS[kind](broker) as fault, pytest.raises(KafkaException) as raised:
        admin.describe_configs([described])[described].result(30)
    assert raised.value.args[0].code() == KafkaError._TRANSPORT
    assert fault.fired == 1


def test_librdkafka_waits_for_delayed_and_hanging_responses_and_tells_the_time_of_a_throttle(
    broker: BlockingBroker,
) -> None:
    delay, hang = broker.faults.delay("Produce", 40, times=1), broker.faults.hang("Produce", times=1)
    throttle = broker.faults.throttle("Produce", 40, times=1)
    times_s: list[float] = []
    producer = Producer(
        {
            "bootstrap.servers": broker.bootstrap_servers,
            "throttle_cb": lambda event: times_s.append(event.throttle_time),
        }
    )
    latencies_s: list[float] = []
    for number in range(3):
        producer.produce(TOPIC, b"value", on_delivery=lambda _, message: latencies_s.append(message.latency() or 0.0))
        if number == 1:
            hang.wait_fired(1, 30)
            assert producer.flush(0) == 1
            hang.remove()
        producer.flush(30)
    assert latencies_s[0] >= 0.04
    assert [fault.fired for fault in (delay, hang, throttle)] == [1, 1, 1]
    while not times_s:
        producer.poll(1)
    assert times_s == [0.04]


def test_librdkafka_reports_that_its_connections_are_refused(broker: BlockingBroker) -> None:
    errors: list[KafkaError] = []
    with broker.faults.refuse_connections() as fault:
        producer = Producer({"bootstrap.servers": broker.bootstrap_servers, "error_cb": errors.append})
        while len(errors) < 2:
            producer.poll(1)
        assert fault.fired >= 1
    assert {error.code() for error in errors} <= {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN}


def test_clients_in_python_report_a_wrong_checksum(broker: BlockingBroker) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce("checked", b"value")
    producer.flush(30)
    with broker.faults.corrupt(topic="checked", times=1) as fault:
        librdkafka = Consumer({"bootstrap.servers": broker.bootstrap_servers, "group.id": "g", "check.crcs": True})
        librdkafka.assign([TopicPartition("checked", 0, 0)])
        message = librdkafka.poll(30)
        assert message is not None
        assert (error := message.error()) is not None
        assert error.code() == KafkaError._BAD_MSG
        librdkafka.close()
        assert fault.fired == 1
    with broker.faults.corrupt(topic="checked", times=1) as fault:
        consumer = KafkaConsumer(bootstrap_servers=broker.bootstrap_servers, consumer_timeout_ms=30_000)
        consumer.assign([PartitionOfKafkaPython("checked", 0)])
        consumer.seek_to_beginning()
        with pytest.raises(CorruptRecordError):
            next(consumer)
        assert fault.fired == 1
        consumer.close()


@pytest.mark.long
@pytest.mark.parametrize(("name", "words"), [("go", "crc"), ("java", "corrupt")])
def test_clients_in_other_languages_report_a_wrong_checksum(broker: BlockingBroker, name: str, words: str) -> None:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    producer.produce(f"checked-by-{name}", b"value")
    producer.flush(30)
    command = [*client_command(name), "consume", broker.bootstrap_servers, f"checked-by-{name}", name, "1"]
    with broker.faults.corrupt(topic=f"checked-by-{name}") as fault:
        consumed = subprocess.run(command, capture_output=True, text=True, check=False)
    assert consumed.returncode != 0
    assert words in (consumed.stdout + consumed.stderr).lower()
    assert fault.fired == 1


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
