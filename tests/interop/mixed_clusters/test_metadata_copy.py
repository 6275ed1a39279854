"""Tests of growing one broker into a cluster and back: metadata is copied to ZooKeeper, the data directory stays."""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, Message, Producer, TopicPartition
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kazoo.client import KazooClient
from pybroker.protocol.messages.metadata import MetadataRequest
from support.clients.kafka_tools import TOOLS, run_tool
from support.clients.wire_client import WireClient
from support.processes.broker_process import BrokerProcess, DidNotStartError
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.zookeeper_tree import read_tree
from support.time.patience import await_answer, await_that

SETTINGS = {
    "broker.id": "1",
    "offsets.topic.num.partitions": "2",
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
}
TOPICS = {"orders": 3, "log": 1}
GROUP = "readers"
RECORDS, COMMITTED = 90, 40


@pytest.fixture
def zookeeper(tmp_path: Path) -> Iterator[ZooKeeperProcess]:
    process = ZooKeeperProcess(tmp_path / "zookeeper").start()
    yield process
    process.kill()


def copy(source: object, target: object, *options: str, expected: int = 0) -> str:
    command = [sys.executable, "-m", "pybroker", "metadata", "copy", "--from", str(source), "--to", str(target)]
    done = subprocess.run([*command, *options], capture_output=True, text=True, check=False)
    assert done.returncode == expected, done.stdout + done.stderr
    return done.stdout + done.stderr


def fill(servers: str) -> None:
    """Creates topics (one with its own settings), records and a group's offsets."""
    admin = KafkaAdminClient(bootstrap_servers=servers)
    admin.create_topics([NewTopic(name, partitions, 1) for name, partitions in TOPICS.items()])
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, "log", {"retention.ms": "123456789"})])
    admin.close()
    produce(servers, range(RECORDS))
    consumer = Consumer({"bootstrap.servers": servers, "group.id": GROUP})
    consumer.commit(offsets=[TopicPartition("log", 0, COMMITTED)], asynchronous=False)
    consumer.close()


def produce(servers: str, values: range) -> None:
    failed: list[object] = []

    def delivered(error: object, _message: Message) -> None:
        if error is not None:
            failed.append(error)

    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for value in values:
        producer.produce("log", str(value).encode(), partition=0, on_delivery=delivered)
        producer.produce("orders", str(value).encode(), partition=value % 3, on_delivery=delivered)
    producer.flush()
    assert not failed


def ids(servers: str) -> Mapping[str, object]:
    """Returns the cluster's id under the name "" and the ids of topics."""
    with WireClient(servers) as client:
        answer = client.ask(MetadataRequest(topics=None), 12)
    return {"": answer.cluster_id, **{topic.name: topic.topic_id for topic in answer.topics}}


def await_ids(servers: str, expected: Mapping[str, object]) -> None:
    """Waits for the ids: a broker that has just started may not know its topics yet."""
    await_answer(lambda: ids(servers), lambda found: found == expected, "the ids are those of before")


def check(servers: str, records: int) -> None:
    """Checks that everything made by `fill` exists, with as many records."""
    shown = run_tool(
        "kafka.admin.ConfigCommand", "--bootstrap-server", servers, "--describe", "--entity-type", "topics"
    )
    assert "retention.ms=123456789" in shown
    consumer = Consumer({"bootstrap.servers": servers, "group.id": GROUP, "enable.auto.commit": False})
    await_that(lambda: committed(consumer) == COMMITTED, "the group's offset is known")
    values: list[int] = []
    consumer.assign([TopicPartition("log", 0, 0), *(TopicPartition("orders", number, 0) for number in range(3))])
    while len(values) < 2 * records:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            values.append(int(message.value() or b""))
    consumer.close()
    assert sorted(values) == sorted([*range(records), *range(records)])


def committed(consumer: Consumer) -> int | None:
    try:
        (found,) = consumer.committed([TopicPartition("log", 0)], timeout=10)
    except KafkaException:  # no coordinator yet
        return None
    return int(found.offset)


def test_tree_of_a_kafka_before_cluster_ids_is_not_called_missing(tmp_path: Path, zookeeper: ZooKeeperProcess) -> None:
    client = KazooClient(zookeeper.connect)
    client.start()
    try:
        client.create("/old/brokers/topics/log", b'{"version":1,"partitions":{"0":[0]}}', makepath=True)
    finally:
        client.stop()
        client.close()
    said = copy(f"{zookeeper.connect}/old", tmp_path, expected=1)
    assert "the tree has no /cluster/id" in said
    assert "older than Kafka 0.10.1" in said
    assert "there is no metadata of a cluster" in copy(f"{zookeeper.connect}/nothing", tmp_path, expected=2)


def test_single_broker_moves_to_zookeeper_grows_and_moves_back(tmp_path: Path, zookeeper: ZooKeeperProcess) -> None:
    alone = BrokerProcess(tmp_path / "one", SETTINGS)
    with alone:
        fill(alone.bootstrap_servers)
        before = ids(alone.bootstrap_servers)
        assert "is in use" in copy(alone.log_directory, zookeeper.connect, expected=1)
    connect = f"{zookeeper.connect}/clusters/first"
    assert "would be copied" in copy(alone.log_directory, connect, "--dry-run")
    assert not read_tree(zookeeper.connect)

    copy(alone.log_directory, connect)
    with pytest.raises(
        DidNotStartError,
        match=r"is the old state: set zookeeper\.connect or log\.dirs \(server\.properties line 2\) to the new place",
    ):
        alone.start()  # it refuses to start without its metadata
    alone.stop()
    first = BrokerProcess(tmp_path / "one", {**SETTINGS, "zookeeper.connect": connect})
    second = BrokerProcess(tmp_path / "two", {**SETTINGS, "zookeeper.connect": connect, "broker.id": "2"})
    with first, second:
        await_ids(first.bootstrap_servers, before)
        check(first.bootstrap_servers, RECORDS)
        produce(second.bootstrap_servers, range(RECORDS, RECORDS + 10))
        reassign(tmp_path, first.bootstrap_servers, [1, 2])
        assert "stop all brokers first; running: broker 1, broker 2" in copy(connect, tmp_path, expected=1)
        await_that(lambda: in_sync(connect) == {1, 2}, "the second broker has the topic")
    assert "could not serve the replicas of log-0 (on 1, 2)" in _copy_back(connect, alone, expected=1)
    with first, second:
        reassign(tmp_path, first.bootstrap_servers, [1])
        await_that(lambda: in_sync(connect) == {1}, "the first broker has it alone")
    _copy_back(connect, alone)
    with alone:
        await_ids(alone.bootstrap_servers, before)
        check(alone.bootstrap_servers, RECORDS + 10)
        produce(alone.bootstrap_servers, range(RECORDS + 10, RECORDS + 20))
    assert " ERROR " not in first.output + second.output + alone.output


def _copy_back(connect: str, broker: BrokerProcess, expected: int = 0) -> str:
    return copy(connect, broker.log_directory, expected=expected)


def reassign(directory: Path, servers: str, replicas: list[int]) -> None:
    plan = directory / "plan.json"
    plan.write_text(f'{{"version":1,"partitions":[{{"topic":"log","partition":0,"replicas":{replicas}}}]}}')
    arguments = ["--bootstrap-server", servers, "--reassignment-json-file", str(plan), "--execute"]
    run_tool(f"{TOOLS}.reassign.ReassignPartitionsCommand", *arguments)


def in_sync(connect: str) -> set[int]:
    value = read_tree(connect)["/brokers/topics/log/partitions/0/state"].value
    topic = read_tree(connect)["/brokers/topics/log"].value
    assert isinstance(value, dict)
    assert isinstance(topic, dict)
    return set(value["isr"]) if set(value["isr"]) == set(topic["partitions"]["0"]) else set()


def test_kafka_continues_on_the_copied_tree(tmp_path: Path, zookeeper: ZooKeeperProcess) -> None:
    alone = BrokerProcess(tmp_path / "one", SETTINGS)
    with alone:
        fill(alone.bootstrap_servers)
        before = ids(alone.bootstrap_servers)
    copy(alone.log_directory, zookeeper.connect)
    kafka = KafkaProcess(tmp_path / "kafka", zookeeper, {**SETTINGS, "log.dirs": str(alone.log_directory)}).start()
    try:
        await_ids(kafka.bootstrap_servers, before)
        check(kafka.bootstrap_servers, RECORDS)
        produce(kafka.bootstrap_servers, range(RECORDS, RECORDS + 10))
    finally:
        kafka.stop()
    assert not [line for line in kafka.lines if "] ERROR " in line]
    copy(zookeeper.connect, alone.log_directory)
    with alone:
        await_ids(alone.bootstrap_servers, before)
        check(alone.bootstrap_servers, RECORDS + 10)
