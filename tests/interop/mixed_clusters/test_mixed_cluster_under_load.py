"""Tests of a cluster of two Apache Kafkas and one pybroker under load while brokers are stopped and started.

Each kind is controller in turn. Transactions run too, and all brokers lead their partitions. Pybroker coordinates them
and the group of their offsets while it runs, else a Kafka does.
"""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.clients.replica_verification import await_equal_replicas
from support.clients.traffic import ConfluentTraffic
from support.clients.transactional_traffic import TransactionalTraffic, await_offset, read_committed
from support.processes.mixed_cluster import MixedCluster
from support.time.patience import await_that

FIRST, SECOND, OURS = 1, 2, 3
BROKERS = (FIRST, SECOND, OURS)
PARTITIONS = 3
SETTINGS = {
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "log.segment.bytes": "100000",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MixedCluster]:
    own = {SECOND: {"zookeeper.session.timeout.ms": "10000"}}  # short, because it is killed and must be noticed
    cluster = MixedCluster(tmp_path, {FIRST: "kafka", SECOND: "kafka", OURS: "pybroker"}, SETTINGS, own)
    yield cluster
    cluster.close()


def create_topics(cluster: MixedCluster) -> None:
    """Creates two topics led by all brokers, and the topics of both coordinators led by pybroker."""
    for topic in ("orders", "sales"):
        cluster.create_topic(topic, [FIRST, SECOND, OURS], [SECOND, OURS, FIRST], [OURS, FIRST, SECOND])
    compact = {"cleanup.policy": "compact"}
    for topic in ("__transaction_state", "__consumer_offsets"):
        cluster.create_topic(topic, [OURS, FIRST, SECOND], [OURS, SECOND, FIRST], config=compact)


@pytest.mark.parametrize(
    "controller",
    [pytest.param(FIRST, marks=pytest.mark.long), OURS],  # the second ends with a Kafka as controller
    ids=["Kafka is controller", "pybroker is controller"],
)
def test_mixed_cluster_keeps_its_promises_under_load(cluster: MixedCluster, controller: int) -> None:
    cluster.start(controller, *(broker_id for broker_id in BROKERS if broker_id != controller))
    assert cluster.controller == controller
    create_topics(cluster)
    traffic = ConfluentTraffic(cluster.servers, "orders", "readers")
    transactions = TransactionalTraffic(cluster.servers, "sales", PARTITIONS)
    with traffic, transactions:

        def everybody_works() -> None:
            cluster.await_in_sync()
            cluster.elect_preferred_leaders()
            for topic in ("orders", "sales"):
                cluster.await_leaders(topic, set(BROKERS))
            for topic in ("__transaction_state", "__consumer_offsets"):
                cluster.await_leaders(topic, {OURS})
            traffic.wait_for_more(20)
            transactions.wait_for_more(4)

        everybody_works()
        others_first = sorted((OURS, SECOND), key=lambda broker_id: broker_id == controller)
        for broker_id in others_first:
            assert cluster.controller == controller
            cluster.restart(broker_id)
            everybody_works()
        cluster.kill(OURS)
        cluster.brokers[OURS].start()
        everybody_works()
        cluster.kill(SECOND)
        await_that(lambda: not cluster.is_registered(SECOND), "it is missed")  # Kafka does not start before that
        cluster.brokers[SECOND].start()
        everybody_works()
        await_equal_replicas(cluster.servers, "orders|sales", 2 * PARTITIONS)
    assert not traffic.refused
    values = read_committed(cluster.servers, "sales", PARTITIONS, len(transactions.committed))
    assert sorted(values) == sorted(transactions.committed)
    await_offset(cluster.servers, "sales", transactions.offset)

    for broker_id in BROKERS:
        cluster.stop(broker_id)
    assert cluster.differing(BROKERS) == []
    assert cluster.complaints() == []
    directories = [str(cluster.log_directory(broker_id)) for broker_id in BROKERS]
    subprocess.run([sys.executable, "-m", "pybroker", "log", "verify", *directories], check=True)
