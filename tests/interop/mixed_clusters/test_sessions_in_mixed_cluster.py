"""Tests a pybroker as controller of two Apache Kafkas under load: a session expires, then the controller dies.

Only that Kafka has a session short enough to expire. The controller's session is ended by its guard when its process
dies.
"""

import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from support.clients.kept_records import read_all
from support.clients.traffic import ConfluentTraffic
from support.processes.mixed_cluster import MixedCluster
from support.time.patience import await_that

OURS, PAUSED, OTHER = 1, 2, 3
BROKERS = (OURS, PAUSED, OTHER)
TOPIC, PARTITIONS = "orders", 3
SETTINGS = {"offsets.topic.replication.factor": "3", "min.insync.replicas": "2"}
SHORT_SESSION = {"zookeeper.session.timeout.ms": "6000"}


class ImpatientTraffic(ConfluentTraffic):
    """Traffic that asks other brokers after some seconds, because a suspended broker keeps its connections."""

    of_producer: Mapping[str, str | int] = {"socket.timeout.ms": 6000, "request.timeout.ms": 5000}
    of_consumer: Mapping[str, str | int] = {"socket.timeout.ms": 6000, "session.timeout.ms": 6000}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MixedCluster]:
    kinds = {OURS: "pybroker", PAUSED: "kafka", OTHER: "kafka"}
    cluster = MixedCluster(tmp_path, kinds, SETTINGS, own={PAUSED: SHORT_SESSION})  # type: ignore[arg-type]
    yield cluster
    cluster.close()


def test_mixed_cluster_survives_an_expired_kafka_session_and_a_killed_controller(cluster: MixedCluster) -> None:
    cluster.start(*BROKERS)
    assert cluster.controller == OURS
    cluster.create_topic(TOPIC, [OURS, PAUSED, OTHER], [PAUSED, OTHER, OURS], [OTHER, OURS, PAUSED])
    with ImpatientTraffic(cluster.servers, TOPIC, "readers") as traffic:
        traffic.wait_for_each(PARTITIONS)
        os.kill(cluster.brokers[PAUSED].pid, signal.SIGSTOP)
        await_that(lambda: not cluster.is_registered(PAUSED), "its session is over")
        await_that(lambda: PAUSED not in cluster.leaders(TOPIC).values(), "others lead")
        traffic.wait_for_each(PARTITIONS)
        os.kill(cluster.brokers[PAUSED].pid, signal.SIGCONT)
        await_that(lambda: cluster.is_registered(PAUSED), "it has another session")
        cluster.await_in_sync()
        traffic.wait_for_each(PARTITIONS)
        assert cluster.controller == OURS

        cluster.kill(OURS)
        await_that(lambda: cluster.controller in (PAUSED, OTHER), "a Kafka is controller")
        await_that(lambda: OURS not in cluster.leaders(TOPIC).values(), "others lead")
        traffic.wait_for_each(PARTITIONS)
        cluster.brokers[OURS].start()
        cluster.await_in_sync()
        traffic.wait_for_each(PARTITIONS)
    assert not traffic.refused
    records = {
        (value.decode(), partition, offset)
        for partition in range(PARTITIONS)
        for offset, value in read_all(cluster.servers, TOPIC, partition)
    }
    assert len({value for value, _, _ in records}) == len(records), "none is there twice"
    assert {(value, *place) for value, place in traffic.acknowledged} == records
    assert {(value, *place) for value, place in traffic.read} <= records
    assert traffic.passed_over() == []

    for broker_id in BROKERS:
        cluster.stop(broker_id)
    assert cluster.differing(BROKERS) == []
    assert cluster.complaints() == []
