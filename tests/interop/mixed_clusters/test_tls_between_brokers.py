"""A cluster of pybroker and Apache Kafka whose brokers connect to each other by TLS with certificates of both sides."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.cimpl import NewTopic
from support.clients.topics import admin_client
from support.in_process.tls_ends import STORES
from support.processes.mixed_cluster import MixedCluster
from support.processes.ports import free_port

OURS, KAFKA = 1, 2
TOPIC = "orders"
SETTINGS = {
    "security.inter.broker.protocol": "SSL",
    "ssl.keystore.type": "PEM",
    "ssl.keystore.location": str(STORES / "server.pem"),
    "ssl.truststore.type": "PEM",
    "ssl.truststore.location": str(STORES / "authority.pem"),
    "ssl.client.auth": "required",
    "offsets.topic.replication.factor": "2",
    "min.insync.replicas": "2",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MixedCluster]:
    own = {broker_id: {"listeners": f"SSL://127.0.0.1:{free_port()}"} for broker_id in (OURS, KAFKA)}
    cluster = MixedCluster(tmp_path, {OURS: "pybroker", KAFKA: "kafka"}, SETTINGS, own)
    yield cluster
    cluster.close()


def produce(cluster: MixedCluster, count: int) -> None:
    producer = Producer({"bootstrap.servers": cluster.servers, "acks": "all", "enable.idempotence": True})
    failures: list[object] = []
    for number in range(count):
        producer.produce(
            TOPIC, f"{number}".encode(), on_delivery=lambda error, _message: failures.append(error) if error else None
        )
    assert producer.flush(60) == 0
    assert failures == []


def consume(cluster: MixedCluster, count: int) -> int:
    consumer = Consumer({"bootstrap.servers": cluster.servers, "group.id": "g", "auto.offset.reset": "earliest"})
    consumer.subscribe([TOPIC])
    read = 0
    while read < count:
        messages = consumer.consume(500, 30)
        assert messages, f"{read} of {count} records within 30 s"
        read += len([message for message in messages if message.error() is None])
    consumer.close()
    return read


@pytest.mark.long
@pytest.mark.parametrize("controller", [OURS, KAFKA])
def test_brokers_of_both_kinds_replicate_and_control_by_tls(cluster: MixedCluster, controller: int) -> None:
    cluster.start(controller, KAFKA if controller == OURS else OURS)
    admin = admin_client(cluster.servers)
    admin.create_topics([NewTopic(TOPIC, 4, 2)])[TOPIC].result()
    cluster.await_leaders(TOPIC, {OURS, KAFKA})
    produce(cluster, 2_000)
    cluster.restart(KAFKA if controller == OURS else OURS)
    cluster.await_in_sync()
    produce(cluster, 1_000)
    assert consume(cluster, 3_000) == 3_000
    assert cluster.complaints() == []
