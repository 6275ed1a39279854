"""One clock moves all brokers of a cluster in this process."""

from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient
from kafka import KafkaConsumer
from pybroker import Cluster
from pybroker.broker.library.cluster.blocking_cluster import BlockingCluster
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from support.clients.wire_client import WireClient

SETTINGS = {"num.partitions": 4, "default.replication.factor": 2, "transaction.state.log.num.partitions": 2}
PARTITIONS = range(4)


@pytest.fixture
def cluster() -> Iterator[BlockingCluster]:
    with Cluster(2, SETTINGS) as cluster:
        yield cluster


def produce(producer: Producer) -> None:
    """Produces a record to each partition."""
    for partition in PARTITIONS:
        producer.produce("t", b"value", partition=partition)
    assert producer.flush(60) == 0


def bounds(cluster: BlockingCluster) -> set[tuple[int, int]]:
    """The first offset and the end of the committed records, of all partitions."""
    consumer = Consumer(
        {"bootstrap.servers": cluster.bootstrap_servers, "group.id": "g", "isolation.level": "read_committed"}
    )
    try:
        return {consumer.get_watermark_offsets(TopicPartition("t", each), timeout=60) for each in PARTITIONS}
    finally:
        consumer.close()


def test_transaction_over_two_brokers_is_aborted_and_old_records_are_deleted(cluster: BlockingCluster) -> None:
    producer = Producer(
        {
            "bootstrap.servers": cluster.bootstrap_servers,
            "transactional.id": "id",
            "transaction.timeout.ms": 60_000,
        }
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    produce(producer)
    assert bounds(cluster) == {(0, 0)}
    cluster.clock.advance_timers(61)
    assert bounds(cluster) == {(0, 2)}
    with pytest.raises(KafkaException):
        producer.commit_transaction(60)
    cluster.clock.advance(days=8)
    assert bounds(cluster) == {(2, 2)}


def test_move_waits_for_markers_of_overdue_transactions(cluster: BlockingCluster) -> None:
    """A paused leader holds them back."""
    settings = {"bootstrap.servers": cluster.bootstrap_servers, "transactional.id": "id"}
    producer = Producer({**settings, "transaction.timeout.ms": 60_000})
    producer.init_transactions(60)
    producer.begin_transaction()
    produce(producer)
    with WireClient(cluster.bootstrap_server(1)) as client:
        coordinator = client.ask(FindCoordinatorRequest(key="id", key_type=1), 2).node_id
    other = 3 - coordinator
    cluster.pause(other)
    with pytest.raises(TimeoutError, match="the clock has moved, but"):
        cluster.clock.advance(minutes=2, wait_s=0.5)
    cluster.resume(other)
    cluster.clock.advance(minutes=2)
    assert bounds(cluster) == {(0, 2)}


def test_members_of_stock_clients_stay_while_a_week_passes_on_all_brokers(cluster: BlockingCluster) -> None:
    servers: dict[str, Any] = {"bootstrap.servers": cluster.bootstrap_servers}
    librdkafka = Consumer({**servers, "group.id": "librdkafka", "auto.offset.reset": "earliest"})
    python = KafkaConsumer(
        "t", bootstrap_servers=cluster.bootstrap_servers, group_id="kafka-python", auto_offset_reset="earliest"
    )
    admin, producer = AdminClient(servers), Producer(servers)

    def members() -> list[tuple[object, list[str]]]:
        found = [
            future.result(60) for future in admin.describe_consumer_groups(["librdkafka", "kafka-python"]).values()
        ]
        return [(each.state, [member.member_id for member in each.members]) for each in found]

    def read_one_of_each_partition() -> None:
        left = set(PARTITIONS)
        while left:
            left -= {message.partition() for message in librdkafka.consume(1, 60)}
        left = set(PARTITIONS)
        while left:
            left -= {partition.partition for partition in python.poll(60_000)}

    produce(producer)
    librdkafka.subscribe(["t"])
    with closing(python), closing(librdkafka):
        read_one_of_each_partition()
        before = members()
        assert [(state, len(ids)) for state, ids in before] == 2 * [(ConsumerGroupState.STABLE, 1)]
        cluster.clock.advance(days=8)
        assert bounds(cluster) == {(1, 1)}
        produce(producer)
        read_one_of_each_partition()
        assert members() == before


def test_paused_broker_is_not_waited_for(cluster: BlockingCluster) -> None:
    before_ms = cluster.clock.clock_ms()
    cluster.pause(2)
    cluster.clock.advance(hours=1, wait_s=60)
    cluster.clock.advance_timers(1, wait_s=60)
    cluster.resume(2)
    cluster.clock.advance(hours=1)
    assert cluster.clock.clock_ms() >= before_ms + 2 * 3_600_000


async def test_clock_of_a_cluster_is_moved_by_coroutines() -> None:
    async with Cluster(1) as cluster:
        before_ms = cluster.clock.clock_ms()
        await cluster.clock.advance(days=1)
        assert cluster.clock.clock_ms() >= before_ms + 86_400_000


def test_brokers_with_processes_of_their_own_have_no_clock() -> None:
    with pytest.raises(RuntimeError, match="keep to real time"):
        _ = Cluster(1, mode="process").clock
