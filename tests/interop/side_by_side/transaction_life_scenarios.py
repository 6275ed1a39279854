"""Scenarios of transactions from their begin to their end: all fields of the responses, and the records."""

from typing import Any

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.requests import (
    LONG_AGO,
    a_group,
    a_topic,
    fetch,
    init_producer,
    list_offsets,
    metadata,
    offsets,
    produce,
)
from interop.side_by_side.transaction_scenarios import a_transactional_id
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import add_partitions_to_txn as ap
from pybroker.protocol.messages import delete_topics as dt
from pybroker.protocol.messages import describe_producers as dp
from pybroker.protocol.messages import txn_offset_commit as tc
from pybroker.protocol.messages import write_txn_markers as wm
from pybroker.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pybroker.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pybroker.protocol.messages.end_txn import EndTxnRequest
from pybroker.protocol.messages.list_transactions import ListTransactionsRequest
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.record import Record

__all__ = ["SCENARIOS"]

READ_COMMITTED = 1


class Producer:
    """A transactional producer with the responses of one broker."""

    def __init__(self, talk: Conversation, name: str, answer: Any) -> None:
        self.talk, self.name = talk, name
        self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch
        self._sequence = 0

    @property
    def identity(self) -> dict[str, Any]:
        return {"transactional_id": self.name, "producer_id": self.producer_id, "producer_epoch": self.epoch}

    def add(self, topic: str, version: int = 3, partitions: tuple[int, ...] = (0,)) -> None:
        self.talk.ask(self.addition([ap.AddPartitionsToTxnTopic(name=topic, partitions=list(partitions))]), version)

    def addition(self, topics: list[ap.AddPartitionsToTxnTopic]) -> ap.AddPartitionsToTxnRequest:
        return ap.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.name,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=topics,
        )

    def send(self, topic: str, version: int = 9) -> None:
        """Send two records. Repeated while the leader cannot ask the coordinator."""
        batch = build_batch(
            [Record(n, LONG_AGO + n, b"key", b"value") for n in range(2)],
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            base_sequence=self._sequence,
            is_transactional=True,
        )
        request = produce(topic, batch, transactional_id=self.name)
        answer = self.talk.until(request, version, lambda found: _code(found) != ErrorCode.NOT_ENOUGH_REPLICAS)
        self._sequence += 0 if _code(answer) else 2

    def end(self, version: int = 3, *, committed: bool) -> None:
        """End the transaction and wait until the markers are written."""
        self.talk.ask(EndTxnRequest(**self.identity, committed=committed), version)
        self.settle()

    def settle(self) -> None:
        description = DescribeTransactionsRequest(transactional_ids=[self.name])
        self.talk.until(
            description, 0, lambda found: not found.transaction_states[0].transaction_state.startswith("Prepare")
        )

    def commit_offsets(self, group: str, topic: str, offset: int) -> None:
        """Repeated while the group's coordinator cannot ask that of the transaction."""
        self.talk.until(
            self.offsets(group, topic, offset),
            3,
            lambda found: found.topics[0].partitions[0].error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        )

    def offsets(self, group: str, topic: str, offset: int) -> tc.TxnOffsetCommitRequest:
        committed = tc.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        topics = [tc.TxnOffsetCommitRequestTopic(name=topic, partitions=[committed])]
        return tc.TxnOffsetCommitRequest(group_id=group, topics=topics, **self.identity)

    def look(self, topic: str) -> None:
        """Everything that shows the transaction."""
        self.talk.ask(DescribeTransactionsRequest(transactional_ids=[self.name]), 0)
        self.talk.ask(ListTransactionsRequest(producer_id_filters=[self.producer_id]), 1)
        self.talk.ask(dp.DescribeProducersRequest(topics=[dp.TopicRequest(name=topic, partition_indexes=[0])]), 0)
        for isolation in (0, READ_COMMITTED):
            self.talk.ask(list_offsets(topic, -1, isolation=isolation), 7)
            self.talk.ask(fetch(topic, isolation_level=isolation), 11)


def _code(answer: Any) -> int:
    code: int = answer.responses[0].partition_responses[0].error_code
    return code


def a_producer(talk: Conversation, name: str | None = None, **fields: Any) -> Producer:
    """Starts a producer, repeatedly as long as an earlier transaction is ending."""
    name = name or a_transactional_id(talk)
    again = (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
    answer = talk.until(init_producer(name, **fields), 4, lambda found: found.error_code not in again)
    return Producer(talk, name, answer)


def commit_a_transaction(talk: Conversation) -> None:
    _end_a_transaction(talk, committed=True)


def abort_a_transaction(talk: Conversation) -> None:
    _end_a_transaction(talk, committed=False)


def _end_a_transaction(talk: Conversation, *, committed: bool) -> None:
    topic, producer = a_topic(talk, partitions=2), a_producer(talk)
    for version in range(4):
        producer.add(topic, version, (0, 1))
        producer.send(topic)
        producer.look(topic)
        producer.end(version, committed=committed)
        producer.look(topic)


def commit_and_abort_in_turn(talk: Conversation) -> None:
    topic, producer = a_topic(talk), a_producer(talk)
    for committed in (True, False, False, True):
        producer.add(topic)
        producer.send(topic)
        producer.end(committed=committed)
    producer.look(topic)


def end_a_transaction_without_records(talk: Conversation) -> None:
    topic, producer = a_topic(talk), a_producer(talk)
    for committed in (True, False):
        producer.add(topic)
        producer.end(committed=committed)
        producer.look(topic)


def add_no_partition(talk: Conversation) -> None:
    """The transaction begins all the same, and ends at once."""
    producer = a_producer(talk)
    for topics in ([], [ap.AddPartitionsToTxnTopic(name=a_topic(talk), partitions=[])]):
        talk.ask(producer.addition(topics), 3)
        producer.settle()
        producer.end(committed=True)


def add_partitions_twice(talk: Conversation) -> None:
    topic, producer = a_topic(talk, partitions=3), a_producer(talk)
    producer.add(topic, 3, (0, 0))
    producer.add(topic, 3, (0, 1))
    producer.add(topic, 3, (1,))
    producer.look(topic)


def requests_without_a_transactional_id(talk: Conversation) -> None:
    topic, group, producer = a_topic(talk), a_group(talk), a_producer(talk)
    producer.name = ""
    for version in range(6):
        talk.ask(init_producer(""), version)
    for version in range(4):
        producer.add(topic, version)
    for version in range(5):
        talk.ask(AddOffsetsToTxnRequest(**producer.identity, group_id=group), version)
        talk.ask(EndTxnRequest(**producer.identity, committed=True), version)
        talk.ask(producer.offsets(group, topic, 5), version)
    for version in (4, 5):
        for verify_only in (True, False):
            each = ap.AddPartitionsToTxnTransaction(
                **producer.identity,
                verify_only=verify_only,
                topics=[ap.AddPartitionsToTxnTopic(name=topic, partitions=[0])],
            )
            talk.ask(ap.AddPartitionsToTxnRequest(transactions=[each]), version)
    talk.ask(DescribeTransactionsRequest(transactional_ids=[""]), 0)


def offsets_in_a_transaction(talk: Conversation) -> None:
    topic, group = a_topic(talk), a_group(talk)
    producer = a_producer(talk)
    for offset, committed in ((5, True), (6, False), (7, True)):
        for version in (0, 3):
            talk.ask(AddOffsetsToTxnRequest(**producer.identity, group_id=group), version)
        producer.commit_offsets(group, topic, offset)
        talk.ask(offsets(group, {topic: [0]}), 7, note="pending")
        talk.ask(offsets(group, {topic: [0]}, require_stable=True), 7, note="pending, stable")
        talk.ask(DescribeTransactionsRequest(transactional_ids=[producer.name]), 0)
        producer.end(committed=committed)
        expected = 5 if offset == 6 else offset
        stable = offsets(group, {topic: [0]}, require_stable=True)
        talk.until(stable, 7, lambda found: found.topics[0].partitions[0].committed_offset == expected)  # noqa: B023


def a_second_producer_fences_the_first(talk: Conversation) -> None:
    topic, group = a_topic(talk), a_group(talk)
    first = a_producer(talk)
    first.add(topic)
    first.send(topic)
    second = a_producer(talk, first.name)
    for version in range(4):
        first.add(topic, version)
        talk.ask(EndTxnRequest(**first.identity, committed=True), version)
        talk.ask(AddOffsetsToTxnRequest(**first.identity, group_id=group), version)
    first.commit_offsets(group, topic, 9)
    for version in (3, 9, 11):
        first.send(topic, version)
    talk.ask(init_producer(first.name, producer_id=first.producer_id, producer_epoch=first.epoch), 3)
    talk.ask(init_producer(first.name, producer_id=first.producer_id, producer_epoch=first.epoch), 4)
    second.look(topic)
    second.add(topic)
    second.send(topic)
    second.end(committed=True)
    second.look(topic)


def a_producer_goes_on_after_an_error(talk: Conversation) -> None:
    topic, first = a_topic(talk), a_producer(talk)
    first.add(topic)
    first.send(topic)
    first.end(committed=False)
    again = {"producer_id": first.producer_id, "producer_epoch": first.epoch}
    second = a_producer(talk, first.name, **again)
    repeated = a_producer(talk, first.name, **again)
    talk.note("the epochs", [second.epoch - first.epoch, repeated.epoch - first.epoch])
    second.add(topic)
    second.send(topic)
    second.end(committed=True)
    second.look(topic)
    for version in (3, 4, 5):
        talk.ask(init_producer(first.name, **again), version)


def an_administrator_writes_the_marker(talk: Conversation) -> None:
    """As `kafka-transactions.sh abort` does, with a coordinator epoch of -1."""
    topic, producer = a_topic(talk), a_producer(talk)
    producer.add(topic)
    producer.send(topic)
    for version in range(2):
        _write_marker(producer, topic, version, coordinator_epoch=-1, committed=False)
        producer.look(topic)
    producer.end(committed=True)
    producer.look(topic)


def a_late_marker_ends_the_next_transaction(talk: Conversation) -> None:
    """Producers keep their epoch, so a marker that is delivered late looks like one of the transaction under way."""
    topic, producer = a_topic(talk), a_producer(talk)
    for late, committed in ((True, False), (False, True)):
        producer.add(topic)
        producer.send(topic)
        _write_marker(producer, topic, 1, coordinator_epoch=0, committed=late)
        producer.look(topic)
        producer.send(topic)
        producer.end(committed=committed)
        producer.look(topic)
    _write_marker(producer, topic, 1, coordinator_epoch=-1, committed=True)


def _write_marker(producer: Producer, topic: str, version: int, *, coordinator_epoch: int, committed: bool) -> None:
    marker = wm.WritableTxnMarker(
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        transaction_result=committed,
        topics=[wm.WritableTxnMarkerTopic(name=topic, partition_indexes=[0])],
        coordinator_epoch=coordinator_epoch,
    )
    producer.talk.ask(wm.WriteTxnMarkersRequest(markers=[marker]), version)


def a_topic_is_deleted_in_a_transaction(talk: Conversation) -> None:
    topic, other, producer = a_topic(talk), a_topic(talk, "other"), a_producer(talk)
    producer.add(topic)
    producer.add(other)
    producer.send(other)
    talk.unrecorded(dt.DeleteTopicsRequest(topic_names=[topic], timeout_ms=60_000), 4)
    _until_unknown(talk, topic)
    producer.end(committed=True)
    producer.look(other)


def _until_unknown(talk: Conversation, topic: str) -> None:
    request: Message = metadata(topic)
    while talk.unrecorded(request, 8).topics[0].error_code != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        pass


SCENARIOS = [
    commit_a_transaction,
    abort_a_transaction,
    commit_and_abort_in_turn,
    end_a_transaction_without_records,
    add_no_partition,
    add_partitions_twice,
    requests_without_a_transactional_id,
    offsets_in_a_transaction,
    a_second_producer_fences_the_first,
    a_producer_goes_on_after_an_error,
    an_administrator_writes_the_marker,
    a_late_marker_ends_the_next_transaction,
    a_topic_is_deleted_in_a_transaction,
]
