"""Replay: the records of a ``__transaction_state`` partition become transactional ids again."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.adding import add_partitions
from pybroker.broker.coordinator.transaction.ending import completed, end, end_and_bump, fence
from pybroker.broker.coordinator.transaction.init_rules import InitRequest, initialize, new_transaction
from pybroker.broker.coordinator.transaction.outcomes import Change, Outcome, WantsProducerId
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.records import decode_value, encode_key, encode_value
from pybroker.broker.coordinator.transaction.registry import TransactionRegistry
from pybroker.broker.coordinator.transaction.replay import Replay
from pybroker.broker.coordinator.transaction.requesting_producer import NO_PRODUCER, RequestingProducer
from pybroker.broker.coordinator.transaction.states import TransactionState
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.broker.coordinator.transaction.transaction_log import TransactionLog
from pybroker.protocol.errors import (
    CoordinatorNotAvailableError,
    CorruptRecordError,
    ErrorCode,
    NotEnoughReplicasError,
)
from pybroker.protocol.records.batch import RecordBatch, iter_batches
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.protocol.records.walk import Record
from support.in_process.offsets_topic import OffsetsTopic

LOG_DIRECTORY = Path(__file__).parents[3] / "reference/logdirs/kafka-3.9"
P0, P1 = TopicPartition("t", 0), TopicPartition("t", 1)
ONE = TransactionPicture(TransactionState.ONGOING, ProducerIdentity(1000, 3), 60_000, frozenset({P0}), 7, 8)
TWO = ONE._replace(last_update_ms=9)


def replay_batches(batches: Iterator[RecordBatch], partition_for: Callable[[str], int] = lambda _: 0) -> Replay:
    replay = Replay(0, partition_for)
    for batch in batches:
        for _ in replay.steps(batch):
            pass
    return replay


def replayed(*batches: bytes) -> dict[str, TransactionPicture]:
    replay = replay_batches(batch for data in batches for batch in iter_batches(data))
    return {each.transactional_id: each.current for each in replay.entries()}


def batch_of(*records: tuple[bytes | None, bytes | None]) -> bytes:
    return build_batch([Record(offset, 5, key, value) for offset, (key, value) in enumerate(records)], base_offset=0)


def put(transactional_id: str, picture: TransactionPicture) -> tuple[bytes, bytes]:
    return encode_key(transactional_id), encode_value(picture, 1)


# -- a real broker's log

DUMPED = re.compile(
    r"transactionalId=(\S+) payload: (?:(<DELETE>)|producerId:(\d+),producerEpoch:(\d+),state=(\w+),"
    r"partitions=\[(.*?)\],txnLastUpdateTimestamp=(\d+),txnTimeoutMs=(\d+))"
)


@pytest.mark.parametrize("partition", [0, 1])
def test_the_log_of_a_real_broker_gives_the_state_in_its_dump(partition: int) -> None:
    paths = sorted((LOG_DIRECTORY / f"data/__transaction_state-{partition}").glob("*.log"))
    replay = replay_batches(batch for path in paths for batch in iter_batches(path.read_bytes()))
    text = (LOG_DIRECTORY / f"__transaction_state-{partition}.dump.txt").read_text()
    expected = {found[0]: found[2:] for found in DUMPED.findall(text)}
    assert expected

    assert {
        each.transactional_id: (
            str(each.current.producer.producer_id),
            str(each.current.producer.epoch),
            each.state.title,
            ",".join(sorted(map(str, each.current.partitions))),
            str(each.current.last_update_ms),
            str(each.current.timeout_ms),
        )
        for each in replay.entries()
    } == {name: (*found[:3], ",".join(sorted(found[3].split(","))), *found[4:]) for name, found in expected.items()}


# -- rules


def test_the_newest_record_of_an_id_counts() -> None:
    assert replayed(batch_of(put("a", ONE), put("b", ONE)), batch_of(put("a", TWO))) == {"a": TWO, "b": ONE}


def test_a_tombstone_deletes_an_id_until_it_is_written_again() -> None:
    tombstone = (encode_key("a"), None)
    assert replayed(batch_of(put("a", ONE), tombstone)) == {}
    assert replayed(batch_of(put("a", ONE), tombstone, put("a", TWO))) == {"a": TWO}


def test_records_are_counted_and_applied_one_for_each_step() -> None:
    replay = Replay(0, lambda _: 0)
    (batch,) = iter_batches(batch_of(put("a", ONE), put("b", ONE)))
    assert len(list(replay.steps(batch))) == 2
    assert replay.record_count == 2


def test_control_batches_are_skipped() -> None:
    marker = build_marker_batch(EndTransactionMarker(True, 0), producer_id=1, producer_epoch=0, timestamp_ms=1)
    assert replayed(marker, batch_of(put("a", ONE))) == {"a": ONE}


UNREADABLE = {
    "an_unknown_state": (encode_key("a"), encode_value(ONE, 0)[:16] + b"\x09" + encode_value(ONE, 0)[17:]),
    "an_unknown_version_of_the_value": (encode_key("a"), b"\x00\x07"),
    "an_unknown_version_of_the_key": (b"\x00\x07", encode_value(ONE, 0)),
    "no_key": (None, encode_value(ONE, 0)),
}


@pytest.mark.parametrize("record", UNREADABLE.values(), ids=UNREADABLE)
def test_a_record_that_cannot_be_read_ends_the_load(record: tuple[bytes | None, bytes | None]) -> None:
    with pytest.raises(CorruptRecordError, match="__transaction_state-0: record at offset 1 cannot be read"):
        replayed(batch_of(put("a", ONE), record, put("a", TWO)))


def test_an_id_of_another_partition_ends_the_load() -> None:
    replay = replay_batches(iter_batches(batch_of(put("a", ONE))), lambda _: 7)
    with pytest.raises(CoordinatorNotAvailableError, match=r"'a' belongs to partition 7 .* the number of partitions"):
        list(replay.entries())


# -- memory and log

IDS = ("first", "second", "third")
NOBODY: RequestingProducer = NO_PRODUCER


class CoordinatorMachine(RuleBasedStateMachine):
    """Random requests to a coordinator whose appends happen at once, later, or are refused."""

    def __init__(self) -> None:
        super().__init__()
        self.topic = OffsetsTopic(2)
        self.registry = TransactionRegistry(lambda: 2)
        for partition in range(2):
            assert self.registry.ownership.begin_loading(partition, 0)
            self.registry.finish_loading(partition, [])
        self.now_ms = 1_000
        self.value_version = 0
        self.next_producer_id = 100
        self.log = TransactionLog(
            self.topic, self.registry.partition_for, lambda: self.now_ms, lambda: self.value_version > 0
        )
        self.told: dict[str, list[RequestingProducer]] = {name: [] for name in IDS}

    @rule(name=st.sampled_from(IDS), epoch=st.sampled_from([32_764, 32_766]))
    def begin_near_the_last_epoch(self, name: str, epoch: int) -> None:
        if self.registry.get(name) is None:
            picture = new_transaction(name, self.fresh_id(), 100, self.now_ms).current
            picture = picture._replace(producer=picture.producer._replace(epoch=epoch))
            record = (encode_key(name), encode_value(picture, self.value_version))
            self.topic.write(self.registry.partition_for(name), batch_of(record))
            self.registry.add(Transaction(name, picture))
            self.told[name].append(RequestingProducer(picture.producer.producer_id, epoch))

    @rule(name=st.sampled_from(IDS), goes_on=st.booleans())
    def init(self, name: str, goes_on: bool) -> None:
        transaction = self.registry.get(name)
        if transaction is None:
            transaction = new_transaction(name, self.fresh_id(), 100, self.now_ms)
            self.registry.add(transaction)
        request = InitRequest(100, self.told[name][-1] if goes_on and self.told[name] else NOBODY)
        self.change(transaction, lambda fresh: initialize(transaction, request, self.now_ms, fresh))

    @rule(name=st.sampled_from(IDS), who=st.integers(1, 3), version=st.integers(0, 2), partition=st.integers(0, 3))
    def add(self, name: str, who: int, version: int, partition: int) -> None:
        transaction, producer = self.registry.get(name), self.producer(name, who)
        partitions = [TopicPartition("t", partition)]
        self.change(transaction, lambda _: add_partitions(transaction, producer, partitions, self.now_ms, version))

    @rule(name=st.sampled_from(IDS), who=st.integers(1, 3), bumps=st.booleans(), commit=st.booleans())
    def end(self, name: str, who: int, bumps: bool, commit: bool) -> None:
        transaction, producer = self.registry.get(name), self.producer(name, who)
        if bumps:
            self.change(
                transaction, lambda fresh: end_and_bump(transaction, producer, self.now_ms, fresh, is_commit=commit)
            )
        else:
            self.change(transaction, lambda _: end(transaction, producer, self.now_ms, is_commit=commit))

    @rule(name=st.sampled_from(IDS))
    def time_out(self, name: str) -> None:
        transaction = self.registry.get(name)
        if transaction is not None and transaction.state is TransactionState.ONGOING and not transaction.is_pending:
            picture = fence(transaction, self.now_ms, self.fresh_id())
            assert isinstance(picture, TransactionPicture)
            self.write(transaction, picture)

    @rule(name=st.sampled_from(IDS))
    def write_markers(self, name: str) -> None:
        transaction = self.registry.get(name)
        if transaction is None or not transaction.is_ending:
            return
        if not transaction.is_pending:
            self.write(transaction, completed(transaction.current, self.now_ms))
        elif not self.topic.held_count:
            self.log.write(transaction, lambda _: None)  # again, after an error

    @rule(name=st.sampled_from(IDS))
    def expire(self, name: str) -> None:
        transaction = self.registry.get(name)
        if transaction is not None and not transaction.is_pending and transaction.state in (0, 4, 5):
            partition = self.registry.partition_for(name)
            self.log.write_tombstones(partition, [transaction], 1_000, self.registry.remove)

    @precondition(lambda self: not self.topic.held_count)
    @rule()
    def hold(self) -> None:
        self.topic.hold()

    @rule()
    def release(self) -> None:
        self.topic.release()

    @rule(refuses=st.booleans())
    def refuse(self, refuses: bool) -> None:
        self.topic.refuse(NotEnoughReplicasError() if refuses else None)

    @rule()
    def write_newer_values(self) -> None:
        self.value_version = 1

    @rule()
    def advance(self) -> None:
        self.now_ms += 1

    @invariant()
    def memory_equals_the_log(self) -> None:
        stored = self.stored()
        kept = {
            each.transactional_id: each
            for partition in self.registry.partitions()
            for each in self.registry.transactions_in(partition)
        }
        assert {name for name, each in kept.items() if each.current.producer.epoch >= 0} >= set(stored)
        for name, transaction in kept.items():
            current = transaction.current
            if current.producer.epoch < 0:
                assert name not in stored, "an id whose first record is not committed"
            elif transaction.has_unwritten_epoch:
                written = stored[name]
                assert (written.state, written.producer.epoch) == (current.state, current.producer.epoch - 1)
            else:
                versions = (1,) if current.bumps_epochs else (0, 1)
                assert stored[name] in {decode_value(encode_value(current, version)) for version in versions}

    @invariant()
    def memory_is_counted(self) -> None:
        sizes = [
            each.size_bytes
            for partition in self.registry.partitions()
            for each in self.registry.transactions_in(partition)
        ]
        assert self.registry.memory.used_bytes == sum(sizes)

    def producer(self, name: str, who: int) -> RequestingProducer:
        """One of the newest producers of the id, so that old ones try again."""
        told = self.told[name]
        return told[-min(who, len(told))] if told else RequestingProducer(100, 0)

    def fresh_id(self) -> int:
        self.next_producer_id += 1
        return self.next_producer_id

    def change(self, transaction: Transaction | None, decide: Callable[[int | None], Outcome]) -> None:
        outcome = decide(None)
        if isinstance(outcome, WantsProducerId):
            outcome = decide(self.fresh_id())
        assert not isinstance(outcome, WantsProducerId)
        if isinstance(outcome, Change):
            assert transaction is not None
            self.write(transaction, outcome.picture)
            if outcome.answer.producer_id >= 0:
                answer = outcome.answer
                self.told[transaction.transactional_id].append(
                    RequestingProducer(answer.producer_id, answer.producer_epoch)
                )

    def write(self, transaction: Transaction, picture: TransactionPicture) -> None:
        transaction.prepare(picture)
        codes: list[ErrorCode] = []
        self.log.write(transaction, codes.append)

    def stored(self) -> dict[str, TransactionPicture]:
        found: dict[str, Any] = {}
        for partition, batches in enumerate(self.topic.batches):
            replay = Replay(partition, self.registry.partition_for)
            for data in batches:
                for batch in iter_batches(data):
                    list(replay.steps(batch))
            found |= {each.transactional_id: each.current for each in replay.entries()}
        return found


CoordinatorMachine.TestCase.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)
test_replaying_the_log_gives_the_state_in_memory = CoordinatorMachine.TestCase
