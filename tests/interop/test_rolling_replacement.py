"""A cluster of three Apache Kafka becomes one of three pybrokers, broker by broker on the same directories, and back.

Clients work all the time. In the end every replica has the same bytes, and everything acknowledged is there, once.
"""

import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition
from support.mixed_cluster import Kind, MixedCluster
from support.replica_verification import await_equal_replicas
from support.traffic import ConfluentTraffic, KafkaPythonTraffic, Traffic

BROKERS = (1, 2, 3)
PARTITIONS = 3
CLIENT_OF: Mapping[str, type[Traffic]] = {"orders": ConfluentTraffic, "sales": KafkaPythonTraffic}
"""By topic."""
SETTINGS = {"offsets.topic.replication.factor": "3", "min.insync.replicas": "2", "log.segment.bytes": "100000"}
RECORDS_BETWEEN = 20
KINDS: tuple[Kind, ...] = ("pybroker", "kafka")
"""What all brokers become, one after the other."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MixedCluster]:
    kinds: dict[int, Kind] = dict.fromkeys(BROKERS, "kafka")
    cluster = MixedCluster(tmp_path, kinds, SETTINGS)
    yield cluster
    cluster.close()


def read_all(servers: str, topic: str) -> list[tuple[str, int, int]]:
    """Every record: its value, partition and offset."""
    consumer = Consumer({"bootstrap.servers": servers, "group.id": "all", "enable.partition.eof": False})
    partitions = [TopicPartition(topic, number, 0) for number in range(PARTITIONS)]
    ends = {each.partition: consumer.get_watermark_offsets(each)[1] for each in partitions}
    consumer.assign(partitions)
    read: list[tuple[str, int, int]] = []
    while len(read) < sum(ends.values()):
        message = consumer.poll(1.0)
        if message is not None and message.error() is None:
            value, partition, offset = message.value(), message.partition(), message.offset()
            assert value is not None
            assert partition is not None
            assert offset is not None
            read.append((value.decode(), partition, offset))
    consumer.close()
    return read


def test_kafka_becomes_pybroker_and_kafka_again(cluster: MixedCluster) -> None:
    cluster.start(*BROKERS)
    for topic in CLIENT_OF:
        cluster.create_topic(topic, [1, 2, 3], [2, 3, 1], [3, 1, 2])
    with ExitStack() as stack:
        clients = [
            stack.enter_context(client(cluster.servers, topic, f"readers of {topic}"))
            for topic, client in CLIENT_OF.items()
        ]
        wait_for_more(clients)
        for kind in KINDS:
            for broker_id in BROKERS:
                cluster.replace(broker_id, kind)
                cluster.await_in_sync()
                wait_for_more(clients)
                if broker_id == 2:  # both kinds are in the cluster, and lead
                    await_equal_replicas(cluster.servers, "|".join(CLIENT_OF), len(CLIENT_OF) * PARTITIONS)
    for traffic in clients:
        check(traffic)

    for broker_id in BROKERS:
        cluster.stop(broker_id)
    assert cluster.differing(BROKERS) == []
    assert cluster.complaints() == []
    directories = [str(cluster.log_directory(broker_id)) for broker_id in BROKERS]
    subprocess.run([sys.executable, "-m", "pybroker", "log", "verify", *directories], check=True)


def wait_for_more(clients: Sequence[Traffic]) -> None:
    for traffic in clients:
        traffic.wait_for_more(RECORDS_BETWEEN)


def check(traffic: Traffic) -> None:
    """What was acknowledged is there, once, and nothing else."""
    assert not traffic.refused
    records = read_all(traffic.servers, traffic.topic)
    assert sorted(value for value, _ in traffic.acknowledged) == sorted(value for value, _, _ in records)
    assert {(value, *place) for value, place in traffic.acknowledged} == set(records)
    assert {(value, *place) for value, place in traffic.read} <= set(records)
    assert traffic.passed_over() == []
