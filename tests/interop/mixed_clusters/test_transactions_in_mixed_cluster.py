"""Tests of transactional clients in a cluster of a pybroker and an Apache Kafka."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest
from support.clients.transactional_traffic import TransactionalTraffic, await_offset, read_committed
from support.processes.cluster_processes import ClusterProcesses
from support.time.patience import await_answer, await_that

OURS, KAFKA = 1, 2
OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
SETTINGS = {
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.retry.backoff.ms": "200",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "2",
    "replica.fetch.backoff.ms": "100",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "2",
    "transaction.state.log.replication.factor": "1",
    "zookeeper.connection.timeout.ms": "120000",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterProcesses]:
    with ExitStack() as stack:
        cluster = ClusterProcesses(tmp_path, 2, SETTINGS, kafkas=[KAFKA])
        stack.callback(cluster.close)
        cluster.start(KAFKA, OURS)
        cluster.await_brokers()
        yield cluster


def find(cluster: ClusterProcesses, transactional_id: str) -> Coordinator:
    """Returns the pybroker's response about the coordinator, once it knows a leader."""
    request = FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id])

    def ask() -> Coordinator:
        coordinator: Coordinator = cluster.ask(OURS, request, 4).coordinators[0]
        return coordinator

    return await_answer(ask, lambda found: found.error_code != ErrorCode.COORDINATOR_NOT_AVAILABLE, "an answer")


@pytest.mark.long
def test_pybroker_names_the_leader_of_the_partition_as_coordinator(cluster: ClusterProcesses) -> None:
    """Also if a client is the first to ask, which creates the topic; each broker leads one of its two partitions."""
    for transactional_id in "a", "b":  # one in each partition
        found = find(cluster, transactional_id)
        leader = cluster.leader(TRANSACTIONS, ord(transactional_id) % 2)
        assert (found.error_code, found.node_id) == (ErrorCode.NONE, leader)
    assert {cluster.leader(TRANSACTIONS, partition) for partition in (0, 1)} == {OURS, KAFKA}


def committed(servers: str, partition: TopicPartition) -> int:
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "shop", "isolation.level": "read_committed"})
    (found,) = consumer.committed([partition], timeout=60)
    consumer.close()
    return int(found.offset)


def test_pybroker_stores_offsets_of_a_transaction_coordinated_by_kafka(cluster: ClusterProcesses) -> None:
    """Offsets take effect at the commit, and move with the group's coordinator before and after it."""
    cluster.create_topic(TRANSACTIONS, [KAFKA], [KAFKA])
    cluster.create_topic("orders", [OURS, KAFKA])
    cluster.create_topic(OFFSETS, [OURS, KAFKA])
    partition = TopicPartition("orders", 0)
    settings = {"bootstrap.servers": cluster.brokers[OURS].bootstrap_servers, "transactional.id": "a"}
    producer = Producer(settings)
    await_that(lambda: find(cluster, "a").node_id == KAFKA, "Kafka coordinates")
    producer.init_transactions(60)
    group = Consumer({"bootstrap.servers": cluster.servers, "group.id": "shop"}).consumer_group_metadata()

    def begin(offset: int) -> None:
        producer.begin_transaction()
        producer.produce("orders", b"sold", partition=0)
        producer.send_offsets_to_transaction([TopicPartition("orders", 0, offset)], group, 60)

    begin(1)
    producer.commit_transaction(60)
    assert committed(cluster.servers, partition) == 1

    begin(2)
    producer.abort_transaction(60)
    assert committed(cluster.servers, partition) == 1

    begin(3)
    cluster.reassign(OFFSETS, 0, [KAFKA, OURS])
    cluster.elect_preferred(OFFSETS, 0)
    producer.commit_transaction(60)
    assert committed(cluster.servers, partition) == 3

    begin(4)
    cluster.reassign(OFFSETS, 0, [OURS, KAFKA])
    cluster.elect_preferred(OFFSETS, 0)
    producer.commit_transaction(60)
    assert committed(cluster.servers, partition) == 4
    assert not [line for line in cluster.brokers[OURS].lines if "Traceback" in line]


def test_transactions_go_on_while_their_coordinator_moves_between_pybroker_and_kafka(cluster: ClusterProcesses) -> None:
    cluster.create_topic(TRANSACTIONS, *[[KAFKA, OURS]] * 2)
    cluster.create_topic("sales", [OURS, KAFKA], [KAFKA, OURS])
    cluster.create_topic(OFFSETS, [OURS, KAFKA])
    with TransactionalTraffic(cluster.servers, "sales", 2) as traffic:
        for replicas in ([OURS, KAFKA], [KAFKA, OURS]) * 2:
            traffic.wait_for_more(4)
            for partition in range(2):
                cluster.reassign(TRANSACTIONS, partition, replicas)
                cluster.elect_preferred(TRANSACTIONS, partition)
        traffic.wait_for_more(4)
    values = read_committed(cluster.servers, "sales", 2, len(traffic.committed))
    assert sorted(values) == sorted(traffic.committed)
    await_offset(cluster.servers, "sales", traffic.offset)
    assert not [line for line in cluster.brokers[OURS].lines if "Traceback" in line]
