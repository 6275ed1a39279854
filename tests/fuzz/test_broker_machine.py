"""Compares a broker with lists of values through random produces, fetches, deletions, commits, stops and kills."""

import time
from functools import partial
from typing import Any

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from pybroker import Broker
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_topics import CreatableTopic, CreatableTopicConfig, CreateTopicsRequest
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from pybroker.protocol.messages.delete_topics import DeleteTopicsRequest
from pybroker.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest
from pybroker.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from pybroker.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from pybroker.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.record import Record, build_batch, read_records
from support.clients.wire_client import WireClient
from support.time.patience import await_answer

TOPICS = st.sampled_from(["one", "two"])
GROUP_NAMES = ("readers", "writers")
GROUPS = st.sampled_from(GROUP_NAMES)
VALUES = st.lists(st.integers(0, 200).map(lambda size: b"v" * size), min_size=1, max_size=5)
SHARE = st.floats(0, 1)
EARLIEST, LATEST = -2, -1
REMEMBERED = 5
# Without shrinking, which would start a hundred brokers.
QUICK = settings(max_examples=10, stateful_step_count=30, phases=(Phase.explicit, Phase.reuse, Phase.generate))
SETTINGS = {"log.segment.bytes": "1000", "log.index.interval.bytes": "100", "offsets.topic.num.partitions": "2"}


class Partition:
    """The model of a partition: values by offset, its log start, and the last batches of its idempotent producer."""

    def __init__(self) -> None:
        self.values: list[bytes] = []
        self.start = 0
        self.sent: list[tuple[int, list[bytes], int]] = []
        self.next_sequence = 0


class BrokerMachine(RuleBasedStateMachine):
    """One broker, one client, topics of one partition."""

    def __init__(self) -> None:
        super().__init__()
        self.partitions: dict[str, Partition] = {}
        self.commits: dict[tuple[str, str], int] = {}

    @initialize()
    def begin(self) -> None:
        self.entered = Broker(SETTINGS)
        self.broker = self.entered.__enter__()
        self.client = WireClient(self.broker.bootstrap_servers)
        self.ask(FindCoordinatorRequest(key="readers"), 1)
        self.await_groups()
        self.producer_id = self.ask(
            InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 1
        ).producer_id

    def ask(self, request: Message, version: int) -> Any:
        return self.client.ask(request, version)

    # --- topics

    @rule(topic=TOPICS, policy=st.sampled_from(["delete", "compact,delete"]))
    def create(self, topic: str, policy: str) -> None:
        config = CreatableTopicConfig(name="cleanup.policy", value=policy)
        wanted = CreatableTopic(name=topic, num_partitions=1, replication_factor=1, configs=[config])
        (result,) = self.ask(CreateTopicsRequest(topics=[wanted], timeout_ms=30_000), 4).topics
        exists = topic in self.partitions
        assert result.error_code == (ErrorCode.TOPIC_ALREADY_EXISTS if exists else ErrorCode.NONE)
        self.partitions.setdefault(topic, Partition())

    @rule(topic=TOPICS)
    def delete(self, topic: str) -> None:
        (result,) = self.ask(DeleteTopicsRequest(topic_names=[topic], timeout_ms=30_000), 3).responses
        exists = self.partitions.pop(topic, None) is not None
        assert result.error_code == (ErrorCode.NONE if exists else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        self.commits = {key: offset for key, offset in self.commits.items() if key[1] != topic}

    # --- records

    def produce(self, topic: str, records: bytes, acks: int) -> Any:
        data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])]
        answer = self.ask(ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=data), 8)
        return answer.responses[0].partition_responses[0]

    @rule(topic=TOPICS, values=VALUES, acks=st.sampled_from([1, -1]), codec=st.sampled_from(list(Codec)))
    def append(self, topic: str, values: list[bytes], acks: int, codec: Codec) -> None:
        result = self.produce(topic, batch(values, codec=codec), acks)
        if (partition := self.partitions.get(topic)) is None:
            assert result.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return
        assert (result.error_code, result.base_offset) == (ErrorCode.NONE, len(partition.values))
        partition.values += values

    @precondition(lambda self: self.partitions)
    @rule(values=VALUES, pick=SHARE)
    def append_in_sequence(self, values: list[bytes], pick: float) -> None:
        topic, partition = self.pick(pick)
        result = self.produce(topic, self.sequenced(partition.next_sequence, values), -1)
        assert (result.error_code, result.base_offset) == (ErrorCode.NONE, len(partition.values))
        partition.sent = [*partition.sent, (partition.next_sequence, values, len(partition.values))][-REMEMBERED:]
        partition.next_sequence += len(values)
        partition.values += values

    @precondition(lambda self: any(partition.sent for partition in self.partitions.values()))
    @rule(back=st.integers(1, REMEMBERED))
    def repeat(self, back: int) -> None:
        """All of the last five batches are recognised as duplicates, even after a kill."""
        for topic, partition in self.partitions.items():
            if partition.sent:
                sequence, values, offset = partition.sent[-min(back, len(partition.sent))]
                result = self.produce(topic, self.sequenced(sequence, values), -1)
                assert (result.error_code, result.base_offset) == (ErrorCode.NONE, offset)

    @precondition(lambda self: any(partition.sent for partition in self.partitions.values()))
    @rule(values=VALUES)
    def skip_a_sequence(self, values: list[bytes]) -> None:
        for topic, partition in self.partitions.items():
            if partition.sent:
                result = self.produce(topic, self.sequenced(partition.next_sequence + 1, values), -1)
                assert result.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER

    def sequenced(self, sequence: int, values: list[bytes]) -> bytes:
        return batch(values, producer_id=self.producer_id, producer_epoch=0, base_sequence=sequence)

    @precondition(lambda self: self.partitions)
    @rule(pick=SHARE, share=SHARE)
    def delete_records(self, pick: float, share: float) -> None:
        topic, partition = self.pick(pick)
        offset = partition.start + int(share * (len(partition.values) - partition.start))
        wanted = DeleteRecordsPartition(partition_index=0, offset=offset)
        request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[wanted])], timeout_ms=30_000)
        result = self.ask(request, 1).topics[0].partitions[0]
        assert (result.error_code, result.low_watermark) == (ErrorCode.NONE, offset)
        partition.start = offset

    @precondition(lambda self: self.partitions)
    @rule(pick=SHARE, share=SHARE, version=st.sampled_from([4, 11, 12]))
    def fetch(self, pick: float, share: float, version: int) -> None:
        topic, partition = self.pick(pick)
        offset = partition.start + int(share * (len(partition.values) - partition.start))
        result = self.fetch_from(topic, offset, version)
        assert result.error_code == ErrorCode.NONE
        assert result.high_watermark == len(partition.values)
        found = [
            (record.offset, record.value)
            for each in iter_batches(bytes(result.records or b""))
            for record in read_records(each)
            if record.offset >= offset
        ]
        assert found == list(enumerate(partition.values))[offset : offset + len(found)]
        assert found or offset == len(partition.values)

    @precondition(lambda self: any(partition.start for partition in self.partitions.values()))
    @rule()
    def fetch_what_was_deleted(self) -> None:
        for topic, partition in self.partitions.items():
            if partition.start:
                assert self.fetch_from(topic, partition.start - 1, 11).error_code == ErrorCode.OFFSET_OUT_OF_RANGE

    def fetch_from(self, topic: str, offset: int, version: int) -> Any:
        wanted = FetchTopic(
            topic=topic, partitions=[FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=500)]
        )
        request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=[wanted])
        return self.ask(request, version).responses[0].partitions[0]

    # --- commits

    @rule(group=GROUPS, topic=TOPICS, offset=st.integers(0, 100))
    def commit(self, group: str, topic: str, offset: int) -> None:
        wanted = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topics = [OffsetCommitRequestTopic(name=topic, partitions=[wanted])]
        request = OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=topics)
        code = self.ask(request, 6).topics[0].partitions[0].error_code
        if topic in self.partitions:
            assert code == ErrorCode.NONE
            self.commits[group, topic] = offset
        else:
            assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    @rule(group=GROUPS)
    def delete_group(self, group: str) -> None:
        (result,) = self.ask(DeleteGroupsRequest(groups_names=[group]), 1).results
        exists = any(key[0] == group for key in self.commits)
        assert result.error_code == (ErrorCode.NONE if exists else ErrorCode.GROUP_ID_NOT_FOUND)
        self.commits = {key: offset for key, offset in self.commits.items() if key[0] != group}

    # --- the process

    @rule()
    def restart(self) -> None:
        self.client.close()
        self.start_again()

    @rule()
    def kill(self) -> None:
        """As in Kafka, log starts are checkpointed only now and then, so deleted records may be back after a kill."""
        self.broker.kill()
        self.client.close()
        self.start_again()
        for topic, partition in self.partitions.items():
            start = self.offset_of(topic, EARLIEST)
            assert start <= partition.start
            partition.start = start

    def start_again(self) -> None:
        self.broker.restart()
        self.client = WireClient(self.broker.bootstrap_servers)
        self.await_groups()

    def await_groups(self) -> None:
        """A broker is up before it has read the offsets topic; until then it tells clients to ask again."""
        for group in GROUP_NAMES:
            question = partial(self.ask, OffsetFetchRequest(group_id=group, topics=[]), 5)
            await_answer(question, lambda answer: answer.error_code == ErrorCode.NONE, f"the coordinator of {group}")

    # --- invariants

    @invariant()
    def starts_and_ends_are_those_of_the_model(self) -> None:
        for topic, partition in self.partitions.items():
            assert self.offset_of(topic, EARLIEST) == partition.start
            assert self.offset_of(topic, LATEST) == len(partition.values)

    @invariant()
    def commits_are_those_of_the_model(self) -> None:
        for (group, topic), offset in self.commits.items():
            wanted = OffsetFetchRequestTopic(name=topic, partition_indexes=[0])
            answer = self.ask(OffsetFetchRequest(group_id=group, topics=[wanted]), 5)
            assert answer.topics[0].partitions[0].committed_offset == offset

    def offset_of(self, topic: str, timestamp: int) -> int:
        wanted = ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=timestamp)])
        result = self.ask(ListOffsetsRequest(replica_id=-1, topics=[wanted]), 4).topics[0].partitions[0]
        assert result.error_code == ErrorCode.NONE
        return int(result.offset)

    def pick(self, share: float) -> tuple[str, Partition]:
        names = sorted(self.partitions)
        name = names[min(int(share * len(names)), len(names) - 1)]
        return name, self.partitions[name]

    def teardown(self) -> None:
        if hasattr(self, "broker"):
            self.client.close()
            assert self.broker.is_running
            self.entered.__exit__(None, None, None)


def batch(values: list[bytes], **fields: Any) -> bytes:
    now_ms = int(time.time() * 1000)
    return build_batch([Record(number, now_ms, b"key", value) for number, value in enumerate(values)], **fields)


def test_broker_keeps_acknowledged_data_through_requests_stops_and_kills() -> None:
    run_state_machine_as_test(BrokerMachine, settings=QUICK)
