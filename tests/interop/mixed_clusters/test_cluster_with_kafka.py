"""Tests of a cluster of one pybroker and one Apache Kafka 3.9.1, in which each leads, follows and controls the
other.
"""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from pybroker.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.end_txn import EndTxnRequest
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.clients.wire_client import WireClient
from support.in_process.replicas import batch_of, offsets_and_values
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.time.patience import await_answer

OURS, KAFKA = 1, 2
TOPIC = "orders"
SETTINGS = {
    "replica.fetch.backoff.ms": "200",
    "controlled.shutdown.retry.backoff.ms": "500",
    "auto.leader.rebalance.enable": "false",
    "offsets.topic.replication.factor": "2",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "log.retention.ms": "-1",  # the records of tests have old timestamps
}


class MixedCluster:
    def __init__(self, directory: Path) -> None:
        self.zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
        in_cluster = {**SETTINGS, "zookeeper.connect": self.zookeeper.connect}
        self.kafka = KafkaProcess(directory / "kafka", self.zookeeper, {**in_cluster, "broker.id": str(KAFKA)})
        self.ours = BrokerProcess(directory / "pybroker", {**in_cluster, "broker.id": str(OURS)})
        self._clients: dict[int, WireClient] = {}

    def broker(self, broker_id: int) -> BrokerProcess | KafkaProcess:
        return self.ours if broker_id == OURS else self.kafka

    def start(self, broker_id: int) -> None:
        self.broker(broker_id).start()

    def stop(self, broker_id: int) -> None:
        client = self._clients.pop(broker_id, None)
        if client is not None:
            client.close()
        self.broker(broker_id).stop()

    def close(self) -> None:
        for client in self._clients.values():
            client.close()
        self.ours.kill()
        self.kafka.kill()
        self.zookeeper.kill()

    def ask(self, broker_id: int, request: Message, version: int) -> Any:
        client = self._clients.get(broker_id)
        if client is None:
            client = self._clients[broker_id] = WireClient(self.broker(broker_id).bootstrap_servers)
        return client.ask(request, version)

    def create_topic(self, controller_id: int, name: str, *assignments: list[int]) -> None:
        everybody = MetadataRequest(topics=[])
        await_answer(
            lambda: self.ask(controller_id, everybody, 12), lambda answer: len(answer.brokers) == 2, "both brokers"
        )
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
                for index, brokers in enumerate(assignments)
            ],
        )
        answer = self.ask(controller_id, CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 7)
        assert answer.topics[0].error_code == ErrorCode.NONE

    def await_state(self, broker_id: int, *states: tuple[int, list[int]], topic: str = TOPIC) -> None:
        """Waits until a broker reports these leaders and ISRs of the topic's partitions."""
        request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)])

        def look() -> list[tuple[int, list[int]]]:
            partitions = self.ask(broker_id, request, 12).topics[0].partitions
            found = sorted(partitions, key=lambda partition: partition.partition_index)
            return [(partition.leader_id, sorted(partition.isr_nodes)) for partition in found]

        await_answer(look, lambda found: found == list(states), f"leaders and ISRs {states}")

    def produce(self, broker_id: int, partition: int, value: bytes) -> None:
        """Produces with acks=all; retries until the broker leads, which others may know earlier."""
        data = PartitionProduceData(index=partition, records=batch_of(value))
        request = ProduceRequest(
            acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])]
        )

        def produced() -> int:
            return int(self.ask(broker_id, request, 9).responses[0].partition_responses[0].error_code)

        await_answer(produced, lambda code: code == ErrorCode.NONE, f"broker {broker_id} takes a record")

    def files(self, name: str, partition: int) -> tuple[bytes, bytes]:
        """Returns a file of both replicas."""
        ours, theirs = (broker.log_directory / f"{TOPIC}-{partition}" / name for broker in (self.ours, self.kafka))
        return ours.read_bytes(), theirs.read_bytes()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[MixedCluster]:
    cluster = MixedCluster(tmp_path)
    yield cluster
    cluster.close()


@pytest.mark.parametrize(
    "controller_id",
    [OURS, pytest.param(KAFKA, marks=pytest.mark.long)],
    ids=["pybroker is controller", "Kafka is controller"],
)
def test_pybroker_and_kafka_replicate_through_restarts_to_equal_logs(cluster: MixedCluster, controller_id: int) -> None:
    for broker_id in sorted((OURS, KAFKA), key=lambda each: each != controller_id):
        cluster.start(broker_id)
    cluster.create_topic(controller_id, TOPIC, [OURS, KAFKA], [KAFKA, OURS])
    both = [OURS, KAFKA]
    for broker_id in both:
        cluster.await_state(broker_id, (OURS, both), (KAFKA, both))
    for number in range(3):
        cluster.produce(OURS, 0, b"to ours %d" % number)
        cluster.produce(KAFKA, 1, b"to Kafka %d" % number)

    for away, left in ((KAFKA, OURS), (OURS, KAFKA)):
        cluster.stop(away)  # hands over its leaderships
        cluster.await_state(left, (left, [left]), (left, [left]))
        for partition in (0, 1):
            cluster.produce(left, partition, b"alone")
        cluster.start(away)
        cluster.await_state(left, (left, both), (left, both))
        for partition in (0, 1):
            cluster.produce(left, partition, b"together")

    cluster.stop(OURS)
    cluster.stop(KAFKA)
    for partition in (0, 1):
        ours, theirs = cluster.files("00000000000000000000.log", partition)
        assert ours == theirs
        # The last leader has recorded one more epoch without records: from when the other broker left.
        epochs = [file.splitlines()[2:] for file in cluster.files("leader-epoch-checkpoint", partition)]
        assert epochs[1][: len(epochs[0])] == epochs[0]


@pytest.mark.long
def test_transaction_coordinated_by_kafka_ends_in_partition_led_by_pybroker(cluster: MixedCluster) -> None:
    cluster.start(KAFKA)
    cluster.start(OURS)
    cluster.create_topic(KAFKA, TOPIC, [OURS])
    cluster.create_topic(KAFKA, "__transaction_state", [KAFKA])
    cluster.await_state(KAFKA, (OURS, [OURS]))
    name = "shop"
    find = FindCoordinatorRequest(key_type=1, coordinator_keys=[name])
    await_answer(
        lambda: cluster.ask(KAFKA, find, 4).coordinators[0], lambda found: found.node_id == KAFKA, "the coordinator"
    )
    begin = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=900_000)  # the maximum
    producer = await_answer(lambda: cluster.ask(KAFKA, begin, 3), lambda answer: not answer.error_code, "an id")

    fields = {"producer_id": producer.producer_id, "producer_epoch": producer.producer_epoch}
    add = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=producer.producer_id,
        v3_and_below_producer_epoch=producer.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=TOPIC, partitions=[0])],
    )
    for sequence, is_commit in enumerate((True, False)):
        await_answer(
            lambda: cluster.ask(KAFKA, add, 3).results_by_topic_v3_and_below[0].results_by_partition[0],
            lambda result: not result.partition_error_code,
            "the partition is in the transaction",
        )
        now_ms = int(
            time.time() * 1000
        )  # current times, like those of markers, which would otherwise roll a segment of old records
        value = b"sold %d" % sequence
        records = batch_of(value, timestamps=[now_ms], base_sequence=sequence, is_transactional=True, **fields)
        data = PartitionProduceData(index=0, records=records)
        produce = ProduceRequest(
            transactional_id=name,
            acks=-1,
            timeout_ms=30_000,
            topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])],
        )
        taken = await_answer(
            lambda asked=produce: cluster.ask(OURS, asked, 9).responses[0].partition_responses[0],  # type: ignore[misc]
            lambda answer: answer.error_code != ErrorCode.NOT_ENOUGH_REPLICAS,
            "the coordinator has said that the partition is in the transaction",
        )
        assert taken.error_code == ErrorCode.NONE
        end = EndTxnRequest(transactional_id=name, committed=is_commit, **fields)
        assert cluster.ask(KAFKA, end, 3).error_code == ErrorCode.NONE

    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    fetch = FetchRequest(isolation_level=1, topics=[FetchTopic(topic=TOPIC, partitions=[partition])], session_epoch=-1)
    read = await_answer(
        lambda: cluster.ask(OURS, fetch, 12).responses[0].partitions[0],
        lambda data: data.last_stable_offset == 4,
        "both transactions have ended",
    )
    assert [each.first_offset for each in read.aborted_transactions] == [2]
    values = [value for offset, value in offsets_and_values(read.records) if offset in (0, 2)]
    assert values == [b"sold 0", b"sold 1"]
