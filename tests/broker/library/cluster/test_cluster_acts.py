"""Faults and acts on a cluster whose brokers run on threads."""

from collections.abc import Iterator

import pytest
from kafka import KafkaAdminClient, KafkaProducer
from kafka.admin import NewTopic
from pybroker import Cluster
from pybroker.broker.library.cluster.blocking_cluster import BlockingCluster
from pybroker.broker.test_kit.act_error import ActError


@pytest.fixture(scope="module")
def cluster() -> Iterator[BlockingCluster]:
    with Cluster(3, {"offsets.topic.num.partitions": "1"}) as cluster:
        admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
        admin.create_topics([NewTopic("t", 1, 3)])
        admin.close()
        yield cluster


def leader_of(cluster: BlockingCluster, topic: str) -> int:
    admin = KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers)
    try:
        (described,) = admin.describe_topics([topic])
        return int(described["partitions"][0]["leader_id"])
    finally:
        admin.close()


def test_leader_moves_to_each_broker_in_turn(cluster: BlockingCluster) -> None:
    for broker in cluster.broker_ids:
        cluster.acts.move_leader("t", 0, broker)
        assert leader_of(cluster, "t") == broker


def test_coordinator_moves_to_another_broker(cluster: BlockingCluster) -> None:
    first = cluster.acts.move_coordinator("g")
    assert leader_of(cluster, "__consumer_offsets") == first
    second = cluster.acts.move_coordinator("g")
    assert second != first
    assert leader_of(cluster, "__consumer_offsets") == second


def test_fault_of_a_cluster_is_counted_over_all_brokers(cluster: BlockingCluster) -> None:
    producer = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, retries=100, retry_backoff_ms=20)
    try:
        with cluster.faults.error("Produce", "NOT_LEADER_OR_FOLLOWER", topic="t", times=3) as fault:
            for broker in cluster.broker_ids:
                cluster.acts.move_leader("t", 0, broker)
                producer.send("t", b"value", partition=0).get(30)
        assert fault.fired == 3
    finally:
        producer.close()


def test_acts_that_no_broker_can_do_are_refused(cluster: BlockingCluster) -> None:
    with pytest.raises(ActError, match="Metadata: UNKNOWN_TOPIC_OR_PARTITION"):
        cluster.acts.move_leader("missing", 0, 1)
    with pytest.raises(ValueError, match="the cluster has no broker 9"):
        cluster.acts.disk(9)
