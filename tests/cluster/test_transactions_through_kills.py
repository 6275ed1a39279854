"""Transactions of Kafka's Java producer in a cluster of processes on a real ZooKeeper, while brokers are killed."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.describe_transactions import DescribeTransactionsRequest
from support.clients.transactional_traffic import TransactionalTraffic, await_offset, read_committed
from support.processes.cluster_processes import ClusterProcesses
from support.time.patience import await_that

PARTITIONS, BROKERS = 3, (1, 2, 3)
STATE, ORDERS = "__transaction_state", "orders"
ID = "shop"
"""The transactional id of the traffic."""
SETTINGS = {
    "min.insync.replicas": "2",
    "offsets.topic.num.partitions": "1",
    "offsets.topic.replication.factor": "3",
    "replica.fetch.backoff.ms": "100",
    "transaction.state.log.num.partitions": "1",
    "zookeeper.session.timeout.ms": "6000",
}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ClusterProcesses]:
    cluster = ClusterProcesses(tmp_path, len(BROKERS), SETTINGS)
    try:
        cluster.start()
        cluster.await_brokers()
        cluster.create_topic(ORDERS, [1, 2, 3], [2, 3, 1], [3, 1, 2])
        yield cluster
    finally:
        cluster.close()


def state_of(cluster: ClusterProcesses) -> str:
    """The state of the traffic's transactional id at its coordinator."""
    coordinator = cluster.leader(STATE, 0)
    answer = cluster.ask(coordinator, DescribeTransactionsRequest(transactional_ids=[ID]), 0).transaction_states[0]
    return str(answer.transaction_state) if answer.error_code == ErrorCode.NONE else ""


def test_every_committed_transaction_is_read_once_after_kills_of_coordinators_and_leaders(
    cluster: ClusterProcesses,
) -> None:
    with TransactionalTraffic(cluster.servers, ORDERS, PARTITIONS) as traffic:
        traffic.wait_for_more(4)
        for topic in (STATE, ORDERS, "__consumer_offsets"):
            killed = cluster.leader(topic, 0)
            cluster.brokers[killed].kill()
            traffic.wait_for_more(4)
            cluster.start(killed)
            cluster.await_brokers()
            for partition in range(PARTITIONS):
                cluster.await_in_sync(ORDERS, partition)
            cluster.await_in_sync(STATE, 0)
        traffic.wait_for_more(4)
    values = read_committed(cluster.servers, ORDERS, PARTITIONS, len(traffic.committed))
    assert sorted(values) == sorted(traffic.committed), "nothing is lost, doubled or read although it was aborted"
    await_offset(cluster.servers, ORDERS, traffic.offset)
    await_that(lambda: state_of(cluster) in ("CompleteCommit", "CompleteAbort"), "the last transaction has ended")
    assert not [line for broker in cluster.brokers.values() for line in broker.lines if "Traceback" in line]
