"""A single broker gives producers a new epoch with every transaction, also through crashes (KIP-890)."""

from collections.abc import Callable
from typing import Any

import pytest
from pybroker import Broker
from pybroker.base.kafka_names import TRANSACTION_STATE_TOPIC
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest
from pybroker.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from pybroker.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from pybroker.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from support.clients.wire_client import WireClient
from support.in_process.replicas import batch_of

SETTINGS = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}
BUSY = (
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
)


class Producer:
    """Sends what Kafka 4 sends: Produce 12, TxnOffsetCommit 5, EndTxn 5, and no partitions of the transaction."""

    def __init__(self, broker: Any) -> None:
        self._broker = broker
        self.identity = (-1, -1)

    def ask(self, request: Message, version: int, code_of: Callable[[Any], int]) -> Any:
        """The first response that does not ask the client to try again."""
        with WireClient(self._broker.bootstrap_servers) as client:
            while True:
                answer = client.ask(request, version)
                if code_of(answer) not in BUSY:
                    return answer

    def start(self) -> None:
        topic = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
        self.ask(topic, 4, lambda answer: int(answer.topics[0].error_code))
        for kind, key in ((0, "g"), (1, "id")):
            find = FindCoordinatorRequest(key=key, key_type=kind)
            self.ask(find, 3, lambda answer: int(answer.error_code))
        request = InitProducerIdRequest(transactional_id="id", transaction_timeout_ms=60_000)
        answer = self.ask(request, 5, lambda answer: int(answer.error_code))
        self.identity = answer.producer_id, answer.producer_epoch

    def produce(self) -> int:
        def code_of(answer: Any) -> int:
            return int(answer.responses[0].partition_responses[0].error_code)

        return code_of(self.ask(self.records_of(0), 12, code_of))

    def records_of(self, *partitions: int) -> ProduceRequest:
        """The request with a record for each partition."""
        batch = batch_of(
            b"v", producer_id=self.identity[0], producer_epoch=self.identity[1], base_sequence=0, is_transactional=True
        )
        data = [PartitionProduceData(index=index, records=batch) for index in partitions]
        return ProduceRequest(
            transactional_id="id",
            acks=-1,
            timeout_ms=30_000,
            topic_data=[TopicProduceData(name="t", partition_data=data)],
        )

    def commit_offset(self, offset: int) -> int:
        partition = TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = TxnOffsetCommitRequest(
            transactional_id="id",
            group_id="g",
            producer_id=self.identity[0],
            producer_epoch=self.identity[1],
            topics=[TxnOffsetCommitRequestTopic(name="t", partitions=[partition])],
        )

        def code_of(answer: Any) -> int:
            return int(answer.topics[0].partitions[0].error_code)

        return code_of(self.ask(request, 5, code_of))

    def end(self, *, is_commit: bool = True) -> EndTxnResponse:
        request = EndTxnRequest(
            transactional_id="id",
            producer_id=self.identity[0],
            producer_epoch=self.identity[1],
            committed=is_commit,
        )
        answer: EndTxnResponse = self.ask(request, 5, lambda answer: int(answer.error_code))
        if not answer.error_code:
            self.identity = answer.producer_id, answer.producer_epoch
        return answer


def level_of(broker: Any) -> int:
    with WireClient(broker.bootstrap_servers) as client:
        answer = client.ask(ApiVersionsRequest(client_software_name="x", client_software_version="1"), 3)
    return sum(each.max_version_level for each in answer.finalized_features if each.name == "transaction.version")


def committed_offset(broker: Any) -> int:
    topics = [OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g", topics=topics)], require_stable=True)

    def code_of(answer: Any) -> int:
        (group,) = answer.groups
        return int(group.error_code or group.topics[0].partitions[0].error_code)

    answer = Producer(broker).ask(request, 8, code_of)
    return int(answer.groups[0].topics[0].partitions[0].committed_offset)


def state_records(broker: Any) -> int:
    """The number of records that the transaction coordinator has written."""
    partition = ListOffsetsPartition(partition_index=0, timestamp=-1)
    request = ListOffsetsRequest(topics=[ListOffsetsTopic(name=TRANSACTION_STATE_TOPIC, partitions=[partition])])
    with WireClient(broker.bootstrap_servers) as client:
        (answer,) = client.ask(request, 7).topics[0].partitions
    return int(answer.offset)


@pytest.mark.parametrize("is_commit", [True, False])
def test_records_and_offsets_of_a_transaction_need_no_partitions_from_the_producer(is_commit: bool) -> None:
    with Broker(SETTINGS) as broker:
        producer = Producer(broker)
        producer.start()
        producer_id, epoch = producer.identity
        assert (producer.produce(), producer.commit_offset(7)) == (ErrorCode.NONE, ErrorCode.NONE)
        assert producer.end(is_commit=is_commit).error_code == ErrorCode.NONE
        assert producer.identity == (producer_id, epoch + 1)
        assert committed_offset(broker) == (7 if is_commit else -1)


def test_a_produce_to_many_partitions_is_added_to_its_transaction_by_one_record() -> None:
    with Broker({**SETTINGS, "num.partitions": "100"}) as broker:
        producer = Producer(broker)
        producer.start()
        before = state_records(broker)
        with WireClient(broker.bootstrap_servers) as client:
            (topic,) = client.ask(producer.records_of(*range(100)), 12).responses
        assert {each.error_code for each in topic.partition_responses} == {ErrorCode.NONE}
        assert state_records(broker) == before + 1


def test_repeated_end_gets_the_same_answer_after_a_crash() -> None:
    with Broker(SETTINGS) as broker:
        producer = Producer(broker)
        producer.start()
        before = producer.identity
        producer.produce()
        producer.end()
        after, producer.identity = producer.identity, before
        broker.kill()
        broker.start()
        assert level_of(broker) == 2
        assert producer.end().error_code == ErrorCode.NONE
        assert producer.identity == after
        assert producer.produce() == ErrorCode.NONE
        producer.identity = before
        assert producer.end().error_code == ErrorCode.PRODUCER_FENCED


def test_level_of_a_single_broker_can_be_lowered_and_raised() -> None:
    with Broker(SETTINGS) as broker:
        for level, kind in ((0, 2), (1, 1), (2, 1)):
            update = FeatureUpdateKey(feature="transaction.version", max_version_level=level, upgrade_type=kind)
            request = UpdateFeaturesRequest(feature_updates=[update])
            with WireClient(broker.bootstrap_servers) as client:
                assert client.ask(request, 1).results[0].error_code == ErrorCode.NONE
            assert level_of(broker) == level
        broker.restart()
        assert level_of(broker) == 2
