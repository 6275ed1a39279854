"""Tests of transactions that stay open while their leader and coordinator change from Kafka to pybroker and back.

The leader's state is in the producer snapshot of a clean stop. Another broker coordinates them; its state is in
`__transaction_state`.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from pybroker.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from support.clients.transactional_traffic import read_committed
from support.clients.wire_client import WireClient
from support.processes.mixed_cluster import Kind, MixedCluster
from support.time.patience import HANGS_AFTER_S, await_answer

COORDINATOR, LEADER = 1, 2
TOPIC, PARTITION = "orders", 0
SETTINGS = {"offsets.topic.replication.factor": "1"}
KINDS: tuple[Kind, ...] = ("pybroker", "kafka", "pybroker")
"""The kinds of broker that lead and coordinate, one after another."""
TO_ITS_END, STABLE = 0, 1
"""Isolation levels."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MixedCluster]:
    cluster = MixedCluster(tmp_path, {COORDINATOR: "kafka", LEADER: "kafka"}, SETTINGS)
    yield cluster
    cluster.close()


class Transactions:
    """The transactions of one producer, one after another."""

    def __init__(self, servers: str, name: str) -> None:
        self._producer = Producer(
            {
                "bootstrap.servers": servers,
                "transactional.id": name,
                "transaction.timeout.ms": 900_000,  # the maximum, therefore:
                "message.timeout.ms": 900_000,
            }
        )
        self._producer.init_transactions(HANGS_AFTER_S)

    def begin(self) -> None:
        self._producer.begin_transaction()

    def send(self, *values: str) -> None:
        """Sends records; returns when they are in the log."""
        failed: list[object] = []

        def delivered(error: object, _message: object) -> None:
            if error is not None:
                failed.append(error)

        for value in values:
            self._producer.produce(TOPIC, value, partition=PARTITION, on_delivery=delivered)
        assert self._producer.flush(HANGS_AFTER_S) == 0
        assert failed == []

    def commit(self) -> None:
        self._producer.commit_transaction(HANGS_AFTER_S)

    def abort(self) -> None:
        self._producer.abort_transaction(HANGS_AFTER_S)


def ask_leader(cluster: MixedCluster, request: Message, version: int) -> Any:
    """Returns the leader's response for the partition, once it leads."""

    def ask() -> Any:
        with WireClient(cluster.brokers[LEADER].bootstrap_servers) as client:
            return client.ask(request, version).topics[0].partitions[0]

    return await_answer(ask, lambda answer: answer.error_code == ErrorCode.NONE, "the leader's answer")


def end_offset(cluster: MixedCluster, isolation: int) -> int:
    """Returns the last stable offset or the high watermark."""
    asked = ListOffsetsPartition(partition_index=PARTITION, timestamp=-1)
    topic = ListOffsetsTopic(name=TOPIC, partitions=[asked])
    request = ListOffsetsRequest(replica_id=-1, isolation_level=isolation, topics=[topic])
    return int(ask_leader(cluster, request, 7).offset)


def await_stable(cluster: MixedCluster, offset: int) -> None:
    """Waits for the offset: markers arrive some time after a commit or abort returns."""
    await_answer(lambda: end_offset(cluster, STABLE), lambda found: found == offset, f"{offset} is stable")


def producers(cluster: MixedCluster) -> Mapping[int, tuple[int, ...]]:
    """Returns the leader's producers by id: epoch, last sequence, timestamp and start of the transaction."""
    request = DescribeProducersRequest(topics=[TopicRequest(name=TOPIC, partition_indexes=[PARTITION])])
    return {
        each.producer_id: (each.producer_epoch, each.last_sequence, each.last_timestamp, each.current_txn_start_offset)
        for each in ask_leader(cluster, request, 0).active_producers
    }


def test_open_transactions_survive_replacement_of_their_leader_and_coordinator(cluster: MixedCluster) -> None:
    cluster.start(COORDINATOR, LEADER)
    cluster.create_topic("__transaction_state", *[[COORDINATOR]] * 2, config={"cleanup.policy": "compact"})
    cluster.create_topic(TOPIC, [LEADER])
    kept, dropped = (Transactions(cluster.servers, name) for name in ("kept", "dropped"))
    committed: list[str] = []
    for kind in KINDS:
        begin = end_offset(cluster, TO_ITS_END)
        for each, name in ((kept, "kept"), (dropped, "dropped")):
            each.begin()
            each.send(f"{name} before there was a {kind}")
        known = producers(cluster)
        assert sorted(start for *_, start in known.values()) == [begin, begin + 1]

        cluster.replace(LEADER, kind)
        assert producers(cluster) == known
        assert end_offset(cluster, STABLE) == begin
        kept.send(f"kept by a {kind}", f"kept by a {kind}, too")
        dropped.send(f"dropped by a {kind}")
        assert end_offset(cluster, STABLE) == begin
        cluster.replace(COORDINATOR, kind)

        committed += [f"kept before there was a {kind}", f"kept by a {kind}", f"kept by a {kind}, too"]
        kept.commit()
        await_stable(cluster, begin + 1)  # the start of the other transaction, which is still open
        dropped.abort()
        markers = 2
        await_stable(cluster, begin + 5 + markers)
        assert read_committed(cluster.servers, TOPIC, 1, len(committed)) == committed

    for broker_id in (LEADER, COORDINATOR):
        cluster.stop(broker_id)
    assert cluster.complaints() == []
    subprocess.run([sys.executable, "-m", "pybroker", "log", "verify", str(cluster.log_directory(LEADER))], check=True)
