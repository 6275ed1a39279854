"""A coordinator under random requests: the log always gives the state that is in memory."""

from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.adding import add_partitions
from pybroker.broker.coordinator.transaction.ending import completed, end, end_and_bump, fence
from pybroker.broker.coordinator.transaction.init_rules import InitRequest, initialize, new_transaction
from pybroker.broker.coordinator.transaction.memory import new_transaction_bytes, partition_bytes
from pybroker.broker.coordinator.transaction.outcomes import Change, Outcome, WantsProducerId
from pybroker.broker.coordinator.transaction.picture import ProducerIdentity, TransactionPicture
from pybroker.broker.coordinator.transaction.records import encode_key, encode_value
from pybroker.broker.coordinator.transaction.registry import TransactionRegistry
from pybroker.broker.coordinator.transaction.replay import Replay
from pybroker.broker.coordinator.transaction.requesting_producer import NO_PRODUCER, RequestingProducer
from pybroker.broker.coordinator.transaction.states import TransactionState
from pybroker.broker.coordinator.transaction.transaction import Transaction
from pybroker.broker.coordinator.transaction.transaction_log import TransactionLog
from pybroker.protocol.errors import (
    ErrorCode,
    NotEnoughReplicasError,
)
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.builder import build_batch
from pybroker.protocol.records.walk import Record
from support.examples import examples
from support.in_process.offsets_topic import OffsetsTopic

IDS = ("first", "second", "third")


def as_stored(picture: TransactionPicture, version: int) -> TransactionPicture:
    """The part of a picture that a value of this version carries."""
    producer = picture.producer
    if version == 0:
        identity = ProducerIdentity(producer.producer_id, producer.epoch)
        return picture._replace(producer=identity, transaction_version=0)
    return picture._replace(producer=producer._replace(last_epoch=-1))


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
            record = Record(0, self.now_ms, encode_key(name), encode_value(picture, self.value_version))
            self.topic.write(self.registry.partition_for(name), build_batch([record], base_offset=0))
            self.registry.add(Transaction(name, picture))
            self.told[name].append(RequestingProducer(picture.producer.producer_id, epoch))

    @rule(name=st.sampled_from(IDS), goes_on=st.booleans())
    def init(self, name: str, goes_on: bool) -> None:
        transaction = self.registry.get(name)
        if transaction is None:
            transaction = new_transaction(name, self.fresh_id(), 100, self.now_ms)
            self.registry.add(transaction)
        request = InitRequest(100, self.told[name][-1] if goes_on and self.told[name] else NO_PRODUCER)
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
                assert stored[name] in [as_stored(current, version) for version in versions]

    @invariant()
    def memory_is_counted(self) -> None:
        counted = used = 0
        for partition in self.registry.partitions():
            for each in self.registry.transactions_in(partition):
                pictures = [each.current] if each.pending is None else [each.current, each.pending]
                partitions = {id(picture.partitions): picture.partitions for picture in pictures}
                counted += each.size_bytes
                used += new_transaction_bytes(each.transactional_id) + sum(map(partition_bytes, partitions.values()))
        assert self.registry.memory.used_bytes == counted == used

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
            if outcome.response.producer_id >= 0:
                response = outcome.response
                self.told[transaction.transactional_id].append(
                    RequestingProducer(response.producer_id, response.producer_epoch)
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


CoordinatorMachine.TestCase.settings = settings(max_examples=examples(150), stateful_step_count=40, deadline=None)
test_replaying_the_log_gives_the_state_in_memory = CoordinatorMachine.TestCase
