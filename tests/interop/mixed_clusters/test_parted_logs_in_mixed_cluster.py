"""Tests that a Kafka and a pybroker with diverged logs truncate and follow each other again."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Producer
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pybroker.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from support.clients.wire_client import WireClient
from support.in_process.replicas import values_in
from support.processes.mixed_cluster import MixedCluster
from support.time.patience import await_that

KAFKA, OURS = 1, 2
ORDERS, CLEARED = "orders", "cleared"
SETTINGS = {"min.insync.replicas": "1", "unclean.leader.election.enable": "true"}
RECORDS = 10


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MixedCluster]:
    cluster = MixedCluster(tmp_path, {KAFKA: "kafka", OURS: "pybroker"}, SETTINGS)
    yield cluster
    cluster.close()


def produce(cluster: MixedCluster, topic: str, value: str, acks: str = "1") -> None:
    failed: list[object] = []
    producer = Producer({"bootstrap.servers": cluster.servers, "acks": acks})
    for _ in range(RECORDS):
        producer.produce(topic, value.encode(), partition=0, on_delivery=lambda error, _: failed.append(error))
    producer.flush()
    assert failed == [None] * RECORDS


def clear(cluster: MixedCluster, leader: int) -> int:
    """Deletes all records of a topic; returns the new log start offset."""
    partition = DeleteRecordsPartition(partition_index=0, offset=-1)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=CLEARED, partitions=[partition])], timeout_ms=60_000)
    with WireClient(cluster.brokers[leader].bootstrap_servers) as client:
        answer = client.ask(request, 2).topics[0].partitions[0]
    assert answer.error_code == ErrorCode.NONE
    return int(answer.low_watermark)


def epoch_ends(cluster: MixedCluster, leader: int, count: int) -> list[tuple[int, int]]:
    """Returns (epoch, end offset) of the first epochs, as the leader answers."""
    with WireClient(cluster.brokers[leader].bootstrap_servers) as client:
        asked = [
            OffsetForLeaderEpochRequest(
                replica_id=-2,
                topics=[
                    OffsetForLeaderTopic(
                        topic=ORDERS,
                        partitions=[OffsetForLeaderPartition(partition=0, current_leader_epoch=-1, leader_epoch=epoch)],
                    )
                ],
            )
            for epoch in range(count)
        ]
        answers = [client.ask(request, 4).topics[0].partitions[0] for request in asked]
    assert {answer.error_code for answer in answers} == {ErrorCode.NONE}
    return [(answer.leader_epoch, answer.end_offset) for answer in answers]


def await_leader(cluster: MixedCluster, broker_id: int) -> None:
    await_that(lambda: cluster.leaders(ORDERS)[0] == broker_id, f"{broker_id} leads")


def test_brokers_with_diverged_logs_follow_each_other_again(cluster: MixedCluster) -> None:
    cluster.start(KAFKA, OURS)
    for topic in (ORDERS, CLEARED):
        cluster.create_topic(topic, [KAFKA, OURS])
    produce(cluster, ORDERS, "of both", acks="all")
    starts: dict[int, int] = {}
    for one, other in ((KAFKA, OURS), (OURS, KAFKA)):
        cluster.stop(other)
        produce(cluster, ORDERS, f"of {one} alone")
        cluster.stop(one)
        cluster.start(other)  # lacks the last records, and is elected uncleanly
        await_leader(cluster, other)
        produce(cluster, ORDERS, f"of {other}")
        cluster.start(one)
        cluster.await_in_sync()

        epochs = cluster.tree()[f"/brokers/topics/{ORDERS}/partitions/0/state"].value["leader_epoch"]  # type: ignore[index]
        said = epoch_ends(cluster, other, epochs)
        cluster.stop(other)
        await_leader(cluster, one)
        assert epoch_ends(cluster, one, epochs) == said

        produce(cluster, CLEARED, "soon gone")
        starts[other] = clear(cluster, one)
        produce(cluster, CLEARED, "still there")
        cluster.start(other)  # fetches records that no longer exist
        cluster.await_in_sync()
    for broker_id in (KAFKA, OURS):
        cluster.stop(broker_id)

    kept = cluster.log_of(KAFKA, f"{ORDERS}-0")
    assert cluster.log_of(OURS, f"{ORDERS}-0") == kept
    values = [b"of both", b"of %d" % OURS, b"of %d" % KAFKA]
    assert values_in(kept) == [value for value in values for _ in range(RECORDS)]
    for broker_id, start in starts.items():
        files = sorted((cluster.log_directory(broker_id) / f"{CLEARED}-0").glob("*.log"))
        assert start > 0
        assert files[0].name == f"{start:020}.log"
    assert cluster.complaints() == []
