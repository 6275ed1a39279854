"""Tests of a cluster of one Apache Kafka and two pybrokers, with each kind as controller and each broker missing
once.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Message, Producer
from kafka import KafkaAdminClient
from kafka.admin import NewTopic
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.zookeeper_tree import read_tree
from support.time.patience import await_that

SETTINGS = {
    "offsets.topic.replication.factor": "3",
    "offsets.topic.num.partitions": "2",
    "min.insync.replicas": "2",
    "group.initial.rebalance.delay.ms": "0",
}
KAFKA, FIRST, SECOND = 1, 2, 3
TOPIC, PARTITIONS = "mixed", 3


class MixedCluster:
    """The brokers by id; `began` starts first, so it is the first controller."""

    def __init__(self, directory: Path, began: int) -> None:
        self.zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
        kafka = KafkaProcess(directory / "kafka", self.zookeeper, {**SETTINGS, "broker.id": str(KAFKA)})
        self.brokers: dict[int, KafkaProcess | BrokerProcess] = {KAFKA: kafka}
        for broker_id in (FIRST, SECOND):
            settings = {**SETTINGS, "broker.id": str(broker_id), "zookeeper.connect": self.zookeeper.connect}
            self.brokers[broker_id] = BrokerProcess(directory / str(broker_id), settings)
        for broker_id in sorted(self.brokers, key=lambda each: each != began):
            self.brokers[broker_id].start()

    @property
    def servers(self) -> str:
        return ",".join(broker.bootstrap_servers for broker in self.brokers.values())

    @property
    def controller(self) -> object:
        node = read_tree(self.zookeeper.connect).get("/controller")
        return node.value["brokerid"] if node is not None and isinstance(node.value, dict) else None

    def states(self) -> list[tuple[int, set[int]]]:
        """Returns leader and ISR of each partition."""
        tree = read_tree(self.zookeeper.connect)
        paths = [f"/brokers/topics/{TOPIC}/partitions/{number}/state" for number in range(PARTITIONS)]
        values = [tree[path].value for path in paths if path in tree]
        return [(value["leader"], set(value["isr"])) for value in values if isinstance(value, dict)]

    def await_replicas(self, *broker_ids: int) -> None:
        """Waits until exactly these replicas are in sync, and lead."""

        def are_in_sync() -> bool:
            states = self.states()
            return len(states) == PARTITIONS and all(
                isr == set(broker_ids) and leader in broker_ids for leader, isr in states
            )

        await_that(are_in_sync, f"{broker_ids} are in sync")

    def stop(self) -> None:
        for broker in self.brokers.values():
            broker.kill()
        self.zookeeper.kill()


@pytest.fixture(params=[KAFKA, FIRST], ids=["kafka begins", "pybroker begins"])
def cluster(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MixedCluster]:
    with ExitStack() as stack:
        cluster = MixedCluster(tmp_path, request.param)
        stack.callback(cluster.stop)
        assert cluster.controller == request.param
        yield cluster


def produce(producer: Producer, values: range) -> None:
    failed: list[object] = []

    def delivered(error: object, _message: Message) -> None:
        if error is not None:
            failed.append(error)

    for value in values:
        producer.produce(TOPIC, str(value).encode(), partition=value % PARTITIONS, on_delivery=delivered)
    producer.flush()
    assert not failed


def consume(servers: str, group: str, amount: int) -> list[int]:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": group, "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    values: list[int] = []
    while len(values) < amount:
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            values.append(int(message.value() or b""))
    consumer.close()
    return values


@pytest.mark.long
def test_kafka_and_pybroker_replicate_lead_and_take_over_in_one_cluster(cluster: MixedCluster) -> None:
    admin = KafkaAdminClient(bootstrap_servers=cluster.servers)
    admin.create_topics([NewTopic(TOPIC, PARTITIONS, 3)])
    admin.close()
    cluster.await_replicas(KAFKA, FIRST, SECOND)
    producer = Producer({"bootstrap.servers": cluster.servers, "enable.idempotence": True})
    produce(producer, range(300))
    assert sorted(consume(cluster.servers, "first", 300)) == list(range(300))

    for leaving in (KAFKA, FIRST):
        cluster.brokers[leaving].stop()
        remaining = [broker_id for broker_id in cluster.brokers if broker_id != leaving]
        cluster.await_replicas(*remaining)
        await_that(lambda: cluster.controller in remaining, "one of the others is controller")  # noqa: B023
        produce(producer, range(300, 600) if leaving == KAFKA else range(600, 900))
        cluster.brokers[leaving].start()
        cluster.await_replicas(KAFKA, FIRST, SECOND)

    assert sorted(consume(cluster.servers, "second", 900)) == list(range(900))
    for broker_id in (FIRST, SECOND):
        assert not [line for line in cluster.brokers[broker_id].lines if "Traceback" in line]
