"""``inter.broker.protocol.version``: a Kafka and a pybroker are one cluster under each that there is, one by one.

As in a rolling upgrade, both are started anew for each, by turns as controller.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from support.mixed_cluster import MixedCluster

KAFKA, OURS = 1, 2
VERSIONS = ["3.0", "3.1", "3.2", "3.3", "3.4", "3.5", "3.6", "3.7", "3.8", "3.9"]
SETTINGS = {"offsets.topic.replication.factor": "2", "min.insync.replicas": "2"}
RECORDS = 50


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MixedCluster]:
    cluster = MixedCluster(tmp_path, {KAFKA: "kafka", OURS: "pybroker"}, SETTINGS)
    yield cluster
    cluster.close()


def produce(servers: str) -> None:
    """With acks=all, to both partitions."""
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": servers, "enable.idempotence": True})
    for number in range(RECORDS):
        producer.produce(
            "orders",
            b"%d" % number,
            partition=number % 2,
            on_delivery=lambda error, _: failed.append(error) if error is not None else None,
        )
    producer.flush()
    assert not failed


def test_they_replicate_and_lead_under_each_version(cluster: MixedCluster) -> None:
    for number, version in enumerate(VERSIONS):
        cluster.set_for_all("inter.broker.protocol.version", version)
        first, second = ((KAFKA, OURS), (OURS, KAFKA))[number % 2]
        cluster.start(first, second)
        assert cluster.controller == first
        if number == 0:
            cluster.create_topic("orders", [KAFKA, OURS], [OURS, KAFKA])
        cluster.await_in_sync()
        cluster.tool("LeaderElectionCommand", "--election-type", "preferred", "--all-topic-partitions")
        cluster.await_leaders("orders", {KAFKA, OURS})
        produce(cluster.servers)
        cluster.stop(first)  # hands over its partitions, and the controller's place
        cluster.stop(second)
        assert cluster.differing([KAFKA, OURS]) == [], f"under {version}"
    assert cluster.log_of(KAFKA, "orders-0")
    assert cluster.complaints() == []
