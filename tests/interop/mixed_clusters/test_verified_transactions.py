"""Tests that pybroker and Kafka as leaders verify transactions by the same requests when Apache Kafka coordinates."""

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from pybroker.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pybroker.protocol.messages.end_txn import EndTxnRequest
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from support.in_process.replicas import batch_of
from support.processes.cluster_processes import ClusterProcesses
from support.time.patience import await_answer, await_that

OURS, KAFKA = 1, 2
LEADERS = {OURS: 0, KAFKA: 1}
"""The partition that each broker leads, in every topic here."""
OFFSETS, TRANSACTIONS = "__consumer_offsets", "__transaction_state"
GROUPS = {OURS: "b", KAFKA: "a"}  # transactional ids with even and odd hashes
OLD, NEW = 10, 11
"""Versions of Produce: without and with TRANSACTION_ABORTABLE."""
SETTINGS = {
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.retry.backoff.ms": "200",
    "log.retention.ms": "-1",
    "offsets.topic.num.partitions": "2",
    "replica.fetch.backoff.ms": "100",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "1",
    "zookeeper.connection.timeout.ms": "120000",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClusterProcesses]:
    with ExitStack() as stack:
        cluster = ClusterProcesses(tmp_path_factory.mktemp("cluster"), 2, SETTINGS, kafkas=[KAFKA])
        stack.callback(cluster.close)
        cluster.start(KAFKA, OURS)
        cluster.await_brokers()
        cluster.create_topic(TRANSACTIONS, [KAFKA])
        cluster.create_topic(OFFSETS, [OURS], [KAFKA])
        yield cluster


class RawProducer:
    """A transactional producer that also sends invalid requests. Its coordinator is the Kafka."""

    def __init__(self, cluster: ClusterProcesses, topic: str) -> None:
        self._cluster = cluster
        self._topic = topic
        self.name = f"of {topic}"
        cluster.create_topic(topic, [OURS], [KAFKA])
        find = FindCoordinatorRequest(key_type=1, coordinator_keys=[self.name])
        await_that(lambda: self._ask(KAFKA, find, 4).coordinators[0].node_id == KAFKA, "Kafka coordinates")
        begin = InitProducerIdRequest(transactional_id=self.name, transaction_timeout_ms=600_000)
        begun = await_answer(lambda: self._ask(KAFKA, begin, 3), lambda answer: not answer.error_code, "an id")
        self.producer_id, self.epoch = begun.producer_id, begun.producer_epoch

    def _ask(self, broker_id: int, request: Message, version: int):  # type: ignore[no-untyped-def]
        return self._cluster.ask(broker_id, request, version)

    def add(self, *partitions: int) -> None:
        """Adds the partition; retries while the coordinator completes the previous transaction."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=self._topic, partitions=list(partitions))],
        )

        def codes() -> set[int]:
            (topic,) = self._ask(KAFKA, request, 3).results_by_topic_v3_and_below
            return {each.partition_error_code for each in topic.results_by_partition}

        await_that(lambda: codes() == {ErrorCode.NONE}, "the partitions are in the transaction")

    def abort(self) -> None:
        """Aborts and waits for the markers everywhere."""
        end = EndTxnRequest(
            transactional_id=self.name, producer_id=self.producer_id, producer_epoch=self.epoch, committed=False
        )
        assert self._ask(KAFKA, end, 3).error_code == ErrorCode.NONE
        describe = DescribeTransactionsRequest(transactional_ids=[self.name])
        await_that(
            lambda: self._ask(KAFKA, describe, 0).transaction_states[0].transaction_state == "CompleteAbort",
            "the transaction is aborted",
        )

    def try_to_send(self, leader: int, sequence: int, *, version: int, epoch: int | None = None) -> ErrorCode:
        """Sends one batch once."""
        batch = batch_of(
            b"value",
            timestamps=[int(time.time() * 1000)],
            producer_id=self.producer_id,
            producer_epoch=self.epoch if epoch is None else epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        request = ProduceRequest(
            transactional_id=self.name,
            acks=-1,
            timeout_ms=60_000,
            topic_data=[
                TopicProduceData(
                    name=self._topic, partition_data=[PartitionProduceData(index=LEADERS[leader], records=batch)]
                )
            ],
        )
        (answer,) = self._ask(leader, request, version).responses[0].partition_responses
        return ErrorCode(answer.error_code)

    def send(self, sequence: int, *, version: int = NEW, epoch: int | None = None) -> dict[int, ErrorCode]:
        """Sends to each leader; retries while the leader can't reach the coordinator or the coordinator is completing a
        transaction.
        """
        return {
            leader: await_answer(
                lambda to=leader: self.try_to_send(to, sequence, version=version, epoch=epoch),  # type: ignore[misc]
                lambda code: code is not ErrorCode.NOT_ENOUGH_REPLICAS,
                "an answer of the coordinator",
            )
            for leader in LEADERS
        }

    def commit_offset(self, leader: int, version: int) -> ErrorCode:
        """Commits an offset in the transaction, although the coordinator does not know the group."""
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)
        request = TxnOffsetCommitRequest(
            transactional_id=self.name,
            group_id=GROUPS[leader],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequestTopic(name=self._topic, partitions=[partition])],
        )

        def commit() -> ErrorCode:
            return ErrorCode(self._ask(leader, request, version).topics[0].partitions[0].error_code)

        away = (
            ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
            ErrorCode.COORDINATOR_NOT_AVAILABLE,
            ErrorCode.NOT_COORDINATOR,
            ErrorCode.CONCURRENT_TRANSACTIONS,
        )
        return await_answer(commit, lambda code: code not in away, "an answer of the coordinator")


def both(code: ErrorCode) -> dict[int, ErrorCode]:
    return dict.fromkeys(LEADERS, code)


def test_leaders_refuse_records_outside_of_a_transaction(cluster: ClusterProcesses) -> None:
    producer = RawProducer(cluster, "strict")
    assert producer.send(0, version=OLD) == both(ErrorCode.INVALID_TXN_STATE)  # it was never added
    assert producer.send(0, version=NEW) == both(ErrorCode.TRANSACTION_ABORTABLE)
    for version, code in ((3, ErrorCode.INVALID_TXN_STATE), (4, ErrorCode.TRANSACTION_ABORTABLE)):
        assert {leader: producer.commit_offset(leader, version) for leader in LEADERS} == both(code)

    producer.add(0, 1)
    assert producer.send(0) == both(ErrorCode.NONE)
    assert producer.send(1) == both(ErrorCode.NONE)
    producer.abort()
    assert producer.send(2, version=OLD) == both(ErrorCode.INVALID_TXN_STATE)  # the transaction has ended
    assert producer.send(2, version=NEW) == both(ErrorCode.TRANSACTION_ABORTABLE)

    producer.add(0, 1)
    assert producer.send(2) == both(ErrorCode.NONE)
    producer.abort()
    producer.add(0, 1)
    assert producer.send(0, epoch=producer.epoch + 1) == both(ErrorCode.INVALID_PRODUCER_EPOCH)
    producer.producer_id += 1_000
    assert producer.send(0) == both(ErrorCode.INVALID_PRODUCER_ID_MAPPING)


def test_leader_returns_a_retriable_error_while_the_coordinator_is_down(cluster: ClusterProcesses) -> None:
    producer = RawProducer(cluster, "patient")
    producer.add(0)
    cluster.brokers[KAFKA].stop()
    try:
        refused = producer.try_to_send(OURS, 0, version=NEW)
    finally:  # other tests continue to use it
        cluster.brokers[KAFKA].start()
    assert refused is ErrorCode.NOT_ENOUGH_REPLICAS
    # It may coordinate before it knows the topic; then clients get an error and retry, too.
    assert await_answer(
        lambda: producer.try_to_send(OURS, 0, version=NEW),
        lambda code: code not in (ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        "an answer of the coordinator",
    ) is ErrorCode.NONE  # fmt: skip
    cluster.await_brokers()


def test_both_leaders_verify_transactions_with_a_pybroker_that_coordinates(cluster: ClusterProcesses) -> None:
    producer, stranger = RawProducer(cluster, "moved"), RawProducer(cluster, "stranger")
    producer.add(0, 1)
    cluster.reassign(TRANSACTIONS, 0, [OURS])
    request = MetadataRequest(topics=[MetadataRequestTopic(name=TRANSACTIONS)])
    try:
        for broker_id in LEADERS:
            await_answer(
                lambda at=broker_id: cluster.ask(at, request, 9).topics[0].partitions[0].leader_id,  # type: ignore[misc]
                lambda leader: leader == OURS,
                f"broker {broker_id} knows who leads",
            )
        assert producer.send(0) == both(ErrorCode.NONE)
        assert stranger.send(0, version=OLD) == both(ErrorCode.INVALID_TXN_STATE)
    finally:  # other tests continue to use it
        cluster.reassign(TRANSACTIONS, 0, [KAFKA])
    assert producer.send(1) == both(ErrorCode.NONE)


def test_leaders_accept_unverified_records_when_verification_is_off(cluster: ClusterProcesses) -> None:
    """Verification is switched off by the cluster's dynamic setting."""
    producer = RawProducer(cluster, "trusting")
    off = AlterableConfig(name="transaction.partition.verification.enable", config_operation=0, value="false")
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=4, resource_name="", configs=[off])]
    )
    assert cluster.ask(KAFKA, request, 1).responses[0].error_code == ErrorCode.NONE
    taken = await_answer(
        lambda: producer.send(0), lambda codes: set(codes.values()) == {ErrorCode.NONE}, "both know that it is off"
    )
    assert taken == both(ErrorCode.NONE)
