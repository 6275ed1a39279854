"""Brings transactional ids of a broker into every state, also while a record of the id is not committed.

With ZooKeeper the cluster gets a second, silent broker. It leads `STUCK`, so that markers for that topic stay on their
way; and it is in the ISR of partition `HELD` of ``__transaction_state``, so that the test decides when its records are
committed.
"""

from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, NamedTuple

from interop.side_by_side.conversation import Conversation
from interop.side_by_side.requests import assigned, create, metadata, produce
from pybroker.base.coordinator_partition import partition_for_key
from pybroker.base.kafka_names import CONSUMER_OFFSETS_TOPIC, TRANSACTION_STATE_TOPIC
from pybroker.broker.coordinator.transaction.picture import MAX_PRODUCER_EPOCH
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import add_partitions_to_txn as ap
from pybroker.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from pybroker.protocol.messages.describe_transactions import DescribeTransactionsRequest
from pybroker.protocol.messages.end_txn import EndTxnRequest
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.record import Record
from support.clients.wire_client import WireClient
from support.processes.silent_member import SILENT_ID, FollowerOf
from support.time.patience import await_answer, await_that

__all__ = [
    "ADDED",
    "DATA",
    "FAR",
    "GROUP",
    "NOBODY",
    "OTHER",
    "OTHER_GROUP",
    "PARTITIONS",
    "SETTINGS",
    "SITUATIONS",
    "STUCK",
    "TIMEOUT_MS",
    "Producer",
    "Situation",
    "Stage",
    "Subject",
    "add_partitions",
    "end_txn",
    "init_producer_id",
    "record_of",
]

TIMEOUT_MS, SHORT_MS = 600_000, 3_000
DATA, STUCK = "codes-data", "codes-stuck"
ADDED, OTHER = 0, 1
"""Partitions of `DATA`: one of each open transaction, and one of no transaction."""
GROUP, OTHER_GROUP = "codes-group", "codes-group-2"
"""Their offsets are in different partitions."""
PARTITIONS = 3
"""The number of partitions of each internal topic."""
HELD = 2
NEVER_UP = 8
"""A broker that does not exist. All partitions of a topic must have the same number of replicas."""
NOT_YET = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, ErrorCode.NOT_COORDINATOR)
FAR = 1_000_000
"""Added to a producer id gives the id of no producer."""
AT_ONCE = 50
SETTINGS = {
    "broker.id": "0",
    "offsets.topic.num.partitions": str(PARTITIONS),
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.num.partitions": str(PARTITIONS),
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "replica.lag.time.max.ms": "3600000",  # the silent broker stays in the ISR
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.ms": "-1",  # the records have old timestamps
    "auto.create.topics.enable": "false",
}


class Producer(NamedTuple):
    """The producer in a request."""

    producer_id: int
    epoch: int


NOBODY = Producer(-1, -1)


class Subject(NamedTuple):
    """A transactional id with its producer. `next_sequence`: of its records in `DATA`. `is_ending`: for ever."""

    transactional_id: str
    producer_id: int
    epoch: int
    next_sequence: int = 0
    is_ending: bool = False

    @property
    def producer(self) -> Producer:
        return Producer(self.producer_id, self.epoch)


class Stage:
    """A broker and the requests that bring a transactional id into a state.

    `prefix`: of the ids. `follower`: fetches partition `HELD`.
    """

    def __init__(self, bootstrap_servers: str, *, prefix: str = "codes", follower: FollowerOf | None = None) -> None:
        self.client = WireClient(bootstrap_servers)
        self._servers = bootstrap_servers
        self._numbers = count()
        self._waiting: list[WireClient] = []
        self._prefix = prefix
        self._timed_out: list[Subject] = []
        self._follower = follower

    @classmethod
    def alone(cls, bootstrap_servers: str) -> "Stage":
        """With a broker alone, which cannot keep markers or records waiting."""
        stage = cls(bootstrap_servers)
        stage.create_topics({DATA: {ADDED: [0], OTHER: [0]}}, brokers=[0])
        stage.await_coordinators()
        return stage

    @classmethod
    def with_silent_broker(cls, bootstrap_servers: str) -> "Stage":
        stage = cls(bootstrap_servers, follower=FollowerOf(bootstrap_servers, TRANSACTION_STATE_TOPIC, HELD))
        alone = {index: [0] for index in range(PARTITIONS)}
        topics = {
            DATA: {ADDED: [0], OTHER: [0]},
            STUCK: {ADDED: [SILENT_ID]},
            CONSUMER_OFFSETS_TOPIC: alone,
            TRANSACTION_STATE_TOPIC: {index: [0, SILENT_ID if index == HELD else NEVER_UP] for index in alone},
        }
        stage.create_topics(topics, brokers=[0, SILENT_ID])
        stage.await_coordinators()
        return stage

    @property
    def has_silent_broker(self) -> bool:
        return self._follower is not None

    def __enter__(self) -> "Stage":
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        for client in [self.client, *self._waiting]:
            client.close()
        if self._follower is not None:
            self._follower.close()

    def create_topics(self, assignments: Mapping[str, Mapping[int, list[int]]], brokers: list[int]) -> None:
        """Wait until the brokers are known, and create topics."""
        await_answer(
            lambda: sorted(each.node_id for each in self.client.ask(metadata(), 9).brokers),
            lambda found: found == brokers,
            "the brokers are known",
        )
        answer = self.client.ask(create(*(assigned(name, each) for name, each in assignments.items())), 7)
        assert not any(each.error_code for each in answer.topics), answer

    def await_coordinators(self) -> None:
        """Wait for the coordinators, and until the leader can ask them about transactions."""
        for group in (GROUP, OTHER_GROUP):
            request = FindCoordinatorRequest(key=group)
            await_answer(lambda: self.client.ask(request, 3).error_code, lambda code: not code, f"{group}")  # noqa: B023
        subject = self.ongoing()
        await_that(lambda: self._produced(subject) == ErrorCode.NONE, "the leader can ask about a transaction")
        self.end(subject, committed=True)

    # -- requests of a producer

    def new_id(self, *, is_held: bool = False) -> str:
        """A transactional id that was never used, with a loaded coordinator. `is_held`: in partition `HELD`."""
        names = (f"{self._prefix}-{number}" for number in self._numbers)
        name = next(each for each in names if (partition_for_key(each, PARTITIONS) == HELD) == is_held)
        request = FindCoordinatorRequest(key=name, key_type=1)
        await_answer(lambda: self.client.ask(request, 3).error_code, lambda code: code not in NOT_YET, "a coordinator")
        await_answer(lambda: self.describe(name).error_code, lambda code: code not in NOT_YET, "its load")
        return name

    def describe(self, name: str) -> Any:
        request = DescribeTransactionsRequest(transactional_ids=[name])
        return self.client.ask(request, 0).transaction_states[0]

    def initialize(self, name: str, producer: Producer = NOBODY, timeout_ms: int = TIMEOUT_MS) -> Subject:
        request = init_producer_id(name, producer, timeout_ms)
        again = (*NOT_YET, ErrorCode.CONCURRENT_TRANSACTIONS)
        answer = await_answer(
            lambda: self._committed(request, 4), lambda found: found.error_code not in again, "a producer id"
        )
        assert not answer.error_code, answer
        return Subject(name, answer.producer_id, answer.producer_epoch)

    def add(self, subject: Subject, *topics: str) -> Subject:
        """Add partition `ADDED` of the topics, and the offsets of `GROUP`."""
        answer = self._committed(add_partitions(subject, *topics), 3)
        codes = {
            each.partition_error_code for t in answer.results_by_topic_v3_and_below for each in t.results_by_partition
        }
        assert codes == {ErrorCode.NONE}, answer
        request = AddOffsetsToTxnRequest(
            transactional_id=subject.transactional_id,
            producer_id=subject.producer_id,
            producer_epoch=subject.epoch,
            group_id=GROUP,
        )
        assert not self._committed(request, 3).error_code
        return subject

    def end(self, subject: Subject, *, committed: bool) -> Subject:
        """End the transaction and wait until its markers are written, but for those of `STUCK`."""
        assert not self._committed(end_txn(subject, committed), 3).error_code
        self.settled(subject)
        return subject

    def settled(self, subject: Subject) -> Any:
        """The description of the id when no marker is on its way."""

        def is_settled(found: Any) -> bool:
            if not found.transaction_state.startswith("Prepare"):
                return True
            return subject.is_ending and [topic.topic for topic in found.topics] in ([STUCK], [])

        return await_answer(lambda: self.describe(subject.transactional_id), is_settled, "the markers are written")

    def _produced(self, subject: Subject) -> int:
        code: int = self.client.ask(record_of(subject), 9).responses[0].partition_responses[0].error_code
        return code

    # -- records of HELD

    def _committed(self, request: Message, version: int) -> Any:
        """The response; the silent broker fetches until it comes."""
        if self._follower is None:
            return self.client.ask(request, version)
        self.client.send(request, version)
        while not self.client.is_answered():
            self._follower.catch_up()
        return self.client.receive()

    def _pending(self, request: Message, version: int) -> None:
        """Send a request whose record is written but not committed."""
        assert self._follower is not None
        self._follower.catch_up()
        client = WireClient(self._servers)
        self._waiting.append(client)
        client.send(request, version)
        await_that(self._follower.has_new_records, "the record is written")

    # -- states

    def unknown(self) -> Subject:
        return Subject(self.new_id(), 10 * FAR + next(self._numbers), 1)

    def empty(self, *, is_held: bool = False) -> Subject:
        """A producer that was started twice."""
        return self.initialize(self.initialize(self.new_id(is_held=is_held)).transactional_id)

    def resumed(self) -> Subject:
        """A producer that went on after an error, so that its last epoch is known."""
        first = self.initialize(self.new_id())
        return self.initialize(first.transactional_id, first.producer)

    def ongoing(self) -> Subject:
        return self.add(self.empty(), DATA)

    def ongoing_with_records(self) -> Subject:
        subject = self.ongoing()
        assert self._produced(subject) == ErrorCode.NONE
        return subject._replace(next_sequence=1)

    def ending(self, *, committed: bool) -> Subject:
        return self.end(self.add(self.empty()._replace(is_ending=True), DATA, STUCK), committed=committed)

    def fenced_while_ending(self) -> Subject:
        """A new producer fenced the one of the transaction, whose epoch is one behind."""
        subject = self.add(self.empty()._replace(is_ending=True), DATA, STUCK)
        answer = self._committed(init_producer_id(subject.transactional_id), 4)
        assert answer.error_code == ErrorCode.CONCURRENT_TRANSACTIONS
        self.settled(subject)
        return subject

    def ended(self, *, committed: bool) -> Subject:
        return self.end(self.ongoing_with_records(), committed=committed)

    def ended_after_resuming(self) -> Subject:
        return self.end(self.add(self.resumed(), DATA), committed=True)

    def fenced(self) -> Subject:
        """The transaction of the earlier producer was aborted. Its epoch is two behind."""
        subject = self.ongoing()
        self.initialize(subject.transactional_id)
        return subject

    def timed_out(self) -> Subject:
        """A transaction that lasted too long. Many are made at once, because each takes as long as the time-out."""
        self._timed_out = self._timed_out or self.make_timed_out(AT_ONCE)
        return self._timed_out.pop()

    def make_timed_out(self, count_: int) -> list[Subject]:
        started = [self._started_with_a_short_timeout() for _ in range(count_)]
        for subject in started:
            self._committed(add_partitions(subject, DATA), 3)
        for subject in started:
            await_answer(
                lambda: self.describe(subject.transactional_id).transaction_state,  # noqa: B023
                lambda state: state == "CompleteAbort",
                "the transaction is aborted",
            )
        return started

    def _started_with_a_short_timeout(self) -> Subject:
        return self.initialize(self.initialize(self.new_id()).transactional_id, timeout_ms=SHORT_MS)

    def exhausted(self) -> Subject:
        """A producer with the last epoch that a producer can have."""
        subject = self.initialize(self.new_id())
        request = init_producer_id(subject.transactional_id)
        host, _, port = self._servers.rpartition(":")
        talk = Conversation((host, int(port)), "exhausted")
        while subject.epoch < MAX_PRODUCER_EPOCH:
            sent = [talk.send(request, 4) for _ in range(min(AT_ONCE, MAX_PRODUCER_EPOCH - subject.epoch))]
            answers: list[Any] = [each.read() for each in sent]
            codes = {ErrorCode(each.error_code).name for each in answers}
            assert codes <= {"NONE", "CONCURRENT_TRANSACTIONS"}  # the latter if a record takes long
            subject = subject._replace(epoch=max(each.producer_epoch for each in answers))
        talk.close()
        return subject

    def await_expiry(self, count_: int) -> list[Subject]:
        """Producers whose transactional ids expire (transactional.id.expiration.ms of the broker)."""
        subjects = [self.empty() for _ in range(count_)]
        for subject in subjects:
            await_answer(
                lambda: self.describe(subject.transactional_id).error_code,  # noqa: B023
                lambda code: code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
                "the id has expired",
            )
        return subjects

    # -- states with a record that is not committed

    def starting(self) -> Subject:
        """The first record of the id."""
        subject = Subject(self.new_id(is_held=True), 10 * FAR + next(self._numbers), 1)
        self._pending(init_producer_id(subject.transactional_id), 4)
        return subject

    def restarting(self) -> Subject:
        subject = self.empty(is_held=True)
        self._pending(init_producer_id(subject.transactional_id), 4)
        return subject

    def beginning(self) -> Subject:
        subject = self.empty(is_held=True)
        self._pending(add_partitions(subject, DATA), 3)
        return subject

    def growing(self) -> Subject:
        subject = self.add(self.empty(is_held=True), DATA)
        self._pending(add_partitions(subject, DATA, partition=OTHER), 3)
        return subject

    def deciding(self, *, committed: bool) -> Subject:
        subject = self.add(self.empty(is_held=True), DATA)
        self._pending(end_txn(subject, committed), 3)
        return subject

    def being_fenced(self) -> Subject:
        subject = self.add(self.empty(is_held=True), DATA)
        self._pending(init_producer_id(subject.transactional_id), 4)
        return subject


class Situation(NamedTuple):
    """A state of a transactional id. `build` makes a new id in it. `needs_silent_broker`: not with a broker alone."""

    name: str
    build: Callable[[Stage], Subject]
    needs_silent_broker: bool = False


SITUATIONS: Mapping[str, Situation] = {
    each.name: each
    for each in (
        Situation("unknown id", Stage.unknown),
        Situation("Empty", Stage.empty),
        Situation("Empty, resumed", Stage.resumed),
        Situation("Empty, fenced", Stage.fenced),
        Situation("Ongoing", Stage.ongoing),
        Situation("Ongoing with records", Stage.ongoing_with_records),
        Situation("PrepareCommit", lambda stage: stage.ending(committed=True), True),
        Situation("PrepareAbort", lambda stage: stage.ending(committed=False), True),
        Situation("PrepareAbort, fenced", Stage.fenced_while_ending, True),
        Situation("CompleteCommit", lambda stage: stage.ended(committed=True)),
        Situation("CompleteCommit, resumed", Stage.ended_after_resuming),
        Situation("CompleteAbort", lambda stage: stage.ended(committed=False)),
        Situation("CompleteAbort, timed out", Stage.timed_out),
        Situation("new, Empty pending", Stage.starting, True),
        Situation("Empty, Empty pending", Stage.restarting, True),
        Situation("Empty, Ongoing pending", Stage.beginning, True),
        Situation("Ongoing, Ongoing pending", Stage.growing, True),
        Situation("Ongoing, PrepareCommit pending", lambda stage: stage.deciding(committed=True), True),
        Situation("Ongoing, PrepareAbort pending", lambda stage: stage.deciding(committed=False), True),
        Situation("Ongoing, fence pending", Stage.being_fenced, True),
    )
}


# -- requests


def init_producer_id(name: str, producer: Producer = NOBODY, timeout_ms: int = TIMEOUT_MS) -> InitProducerIdRequest:
    """Before version 3 without a producer."""
    return InitProducerIdRequest(
        transactional_id=name,
        transaction_timeout_ms=timeout_ms,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
    )


def add_partitions(subject: Subject, *topics: str, partition: int = ADDED) -> ap.AddPartitionsToTxnRequest:
    """Up to version 3."""
    return ap.AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=subject.transactional_id,
        v3_and_below_producer_id=subject.producer_id,
        v3_and_below_producer_epoch=subject.epoch,
        v3_and_below_topics=[ap.AddPartitionsToTxnTopic(name=topic, partitions=[partition]) for topic in topics],
    )


def end_txn(subject: Subject, committed: bool) -> EndTxnRequest:
    return EndTxnRequest(
        transactional_id=subject.transactional_id,
        producer_id=subject.producer_id,
        producer_epoch=subject.epoch,
        committed=committed,
    )


def record_of(
    subject: Subject, partition: int = ADDED, producer: Producer | None = None, sequence: int | None = None
) -> Message:
    """A record for `DATA`."""
    producer_id, epoch = producer or subject.producer
    batch = build_batch(
        [Record(0, 1_600_000_000_000, b"k", b"v")],
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=subject.next_sequence if sequence is None else sequence,
        is_transactional=True,
    )
    return produce(DATA, batch, partition=partition, transactional_id=subject.transactional_id)
