"""Tests of replacing three Apache Kafka brokers by pybrokers one by one on the same directories, and back.

Clients work all the time, also in transactions, whose coordinators are replaced too. In the end all replicas have the
same bytes, and every acknowledged record is there exactly once.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from support.clients.kept_records import read_all
from support.clients.replica_verification import await_equal_replicas
from support.clients.traffic import ConfluentTraffic, KafkaPythonTraffic, Traffic
from support.clients.transactional_traffic import TransactionalTraffic, await_offset, read_committed
from support.processes.mixed_cluster import Kind, MixedCluster

BROKERS = _, SECOND, _ = (1, 2, 3)
"""In the order of their replacement."""
PARTITIONS = 3
CLIENT_OF: Mapping[str, type[Traffic]] = {"orders": ConfluentTraffic, "sales": KafkaPythonTraffic}
"""The client of each topic."""
OF_TRANSACTIONS = "payments"
SETTINGS = {
    "offsets.topic.replication.factor": "3",
    "min.insync.replicas": "2",
    "transaction.state.log.min.isr": "1",
    "log.segment.bytes": "100000",
}
RECORDS_BETWEEN = 20
TRANSACTIONS_BETWEEN = 2


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MixedCluster]:
    kinds: dict[int, Kind] = dict.fromkeys(BROKERS, "kafka")
    cluster = MixedCluster(tmp_path, kinds, SETTINGS)
    yield cluster
    cluster.close()


@pytest.mark.parametrize(
    "back", [BROKERS[:1], pytest.param(BROKERS, marks=pytest.mark.long)], ids=["one back", "all back"]
)
def test_rolling_replacement_of_kafka_by_pybroker_and_back_loses_nothing(
    cluster: MixedCluster, back: Sequence[int]
) -> None:
    cluster.start(*BROKERS)
    for topic in (*CLIENT_OF, OF_TRANSACTIONS):
        cluster.create_topic(topic, [1, 2, 3], [2, 3, 1], [3, 1, 2])
    compacted = {"cleanup.policy": "compact", "min.insync.replicas": "1"}
    cluster.create_topic("__transaction_state", [1, 2, 3], [2, 3, 1], config=compacted)
    with ExitStack() as stack:
        clients = [
            stack.enter_context(client(cluster.servers, topic, f"readers of {topic}"))
            for topic, client in CLIENT_OF.items()
        ]
        wait_for_more(clients)

        def replace(broker_id: int, kind: Kind) -> None:
            cluster.replace(broker_id, kind)
            cluster.await_in_sync()
            wait_for_more(clients)
            transactions.wait_for_more(TRANSACTIONS_BETWEEN)
            if broker_id == SECOND:  # both kinds are in the cluster and lead partitions
                await_equal_replicas(cluster.servers, "|".join(CLIENT_OF), len(CLIENT_OF) * PARTITIONS)

        with TransactionalTraffic(cluster.servers, OF_TRANSACTIONS, PARTITIONS) as transactions:
            transactions.wait_for_more(TRANSACTIONS_BETWEEN)
            for broker_id in BROKERS:
                replace(broker_id, "pybroker")
            for broker_id in back:
                replace(broker_id, "kafka")
        check_transactions(cluster, transactions)
    for traffic in clients:
        check(traffic)

    for broker_id in BROKERS:
        cluster.stop(broker_id)
    assert cluster.differing(BROKERS) == []
    assert cluster.complaints() == []
    directories = [str(cluster.log_directory(broker_id)) for broker_id in BROKERS]
    subprocess.run([sys.executable, "-m", "pybroker", "log", "verify", *directories], check=True)


def check_transactions(cluster: MixedCluster, traffic: TransactionalTraffic) -> None:
    """Checks that committed records exist once and aborted ones do not, and the last committed offset."""
    values = read_committed(cluster.servers, OF_TRANSACTIONS, PARTITIONS, len(traffic.committed))
    assert sorted(values) == sorted(traffic.committed)
    await_offset(cluster.servers, OF_TRANSACTIONS, traffic.offset)


def wait_for_more(clients: Sequence[Traffic]) -> None:
    for traffic in clients:
        traffic.wait_for_more(RECORDS_BETWEEN)


def check(traffic: Traffic) -> None:
    """Checks that every acknowledged record exists once, and no other."""
    assert not traffic.refused
    records = [
        (value.decode(), partition, offset)
        for partition in range(PARTITIONS)
        for offset, value in read_all(traffic.servers, traffic.topic, partition)
    ]
    assert sorted(value for value, _ in traffic.acknowledged) == sorted(value for value, _, _ in records)
    assert {(value, *place) for value, place in traffic.acknowledged} == set(records)
    assert {(value, *place) for value, place in traffic.read} <= set(records)
    assert traffic.passed_over() == []
