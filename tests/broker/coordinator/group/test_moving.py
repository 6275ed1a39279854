"""Partitions of ``__consumer_offsets`` move between coordinators, which share only the topic."""

import asyncio
from collections.abc import Awaitable
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.commit_request import CommitRequest
from pybroker.broker.coordinator.group.coordinator import GroupCoordinator
from pybroker.broker.coordinator.group.joining import JoinRequest
from pybroker.broker.coordinator.group.offset_batch import TransactionalProducer, build_records
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata
from pybroker.broker.coordinator.group.record_keys import encode_offset_key
from pybroker.broker.coordinator.group.records import encode_offset
from pybroker.broker.coordinator.group.syncing import SyncRequest
from pybroker.broker.coordinator.transaction_end import TransactionEnd
from pybroker.protocol.errors import ErrorCode, KafkaStorageError
from pybroker.protocol.records.compression import Codec
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from support.clients.group_clients import NO_DELAY, SESSION_MS, CommitCall, JoinCall, SyncCall, protocols
from support.in_process.offsets_topic import AwaitedOffsetsTopic, OffsetsTopic
from support.time.virtual_time import VirtualTime

T0 = TopicPartition("t", 0)
PARTITION = 0
OURS = (ErrorCode.NONE, 5)
NUMBERS = count(1)


class Broker:
    """A coordinator of one partition, of a topic that other brokers replicate."""

    def __init__(self, topic: OffsetsTopic) -> None:
        self.time = VirtualTime()
        self.log = AwaitedOffsetsTopic(topic)
        self.coordinator = GroupCoordinator(
            NO_DELAY, self.log, self.time, self.time.now_ms, lambda: f"{next(NUMBERS):04}"
        )

    async def lead(self, epoch: int) -> None:
        await self.coordinator.partitions.load(PARTITION, epoch)

    def follow(self, epoch: int | None) -> None:
        self.coordinator.partitions.unload(PARTITION, epoch)

    def join(self, member_id: str = "", *, instance_id: str | None = None) -> JoinCall:
        call = JoinCall()
        request = JoinRequest(
            "g", member_id, instance_id, "c", "/h", 60_000, SESSION_MS, "consumer", protocols("range")
        )
        self.coordinator.membership.join(request, call)
        return call

    def sync(self, member_id: str, generation: int, instance_id: str | None = None) -> SyncCall:
        call = SyncCall()
        request = SyncRequest("g", generation, member_id, instance_id, assignments={member_id: b"all"})
        self.coordinator.membership.sync(request, call)
        return call

    def heartbeat(self, member_id: str, generation: int) -> ErrorCode:
        return self.coordinator.membership.heartbeat("g", member_id, None, generation)

    def commit(self, offset: int, member_id: str = "", generation: int = -1) -> CommitCall:
        call = CommitCall()
        values = {T0: OffsetAndMetadata(offset, -1, "", self.time.now_ms())}
        self.coordinator.commits.commit(CommitRequest("g", values, member_id, None, generation), call)
        return call

    def committed(self, *, require_stable: bool = False) -> tuple[ErrorCode, int | None]:
        error, results = self.coordinator.commits.fetch("g", [T0], require_stable=require_stable)
        return (results[T0].error, results[T0].offset) if results else (error, None)


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


@pytest.fixture
def topic() -> OffsetsTopic:
    return OffsetsTopic(1)


@pytest.fixture
async def old(topic: OffsetsTopic) -> Broker:
    """The broker that leads the partition, in epoch 1."""
    old = Broker(topic)
    await old.lead(1)
    return old


@pytest.fixture
def new(topic: OffsetsTopic) -> Broker:
    return Broker(topic)


async def test_groups_are_loading_from_the_moment_of_the_election(old: Broker, new: Broker) -> None:
    loading = new.coordinator.partitions.load(PARTITION, 2)
    assert new.committed() == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None)
    assert new.coordinator.administration.describe("g").error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert new.coordinator.administration.list_groups()[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert new.coordinator.administration.delete_group("g") is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert new.join().result.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert new.commit(5).error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert new.heartbeat("whoever", 3) is ErrorCode.NONE, "it may well be a member"
    await loading
    assert new.committed() == (ErrorCode.NONE, -1)


async def test_a_commit_waiting_for_replicas_gets_not_coordinator_when_the_partition_moves_and_is_not_visible(
    old: Broker,
) -> None:
    old.log.replicas.clear()
    commit = old.commit(5)
    await settle()
    assert not commit.is_answered

    old.follow(2)
    assert commit.error is ErrorCode.NOT_COORDINATOR
    assert old.committed() == (ErrorCode.NOT_COORDINATOR, None)

    old.log.replicas.set()
    await settle()  # the append succeeds after all, which this coordinator ignores
    assert old.committed() == (ErrorCode.NOT_COORDINATOR, None)


async def test_a_commit_is_not_visible_before_all_replicas_have_it(old: Broker) -> None:
    old.log.replicas.clear()
    old.commit(5)
    await settle()
    assert old.committed() == (ErrorCode.NONE, -1)
    assert old.committed(require_stable=True) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    old.log.replicas.set()
    await settle()
    assert old.committed() == OURS


async def test_an_append_of_an_old_leadership_has_no_effect_under_the_new_one(old: Broker) -> None:
    """The partition moves away and back while an earlier append is still running."""
    old.log.replicas.clear()
    before = old.commit(7)
    await settle()
    old.follow(2)
    await old.lead(3)
    assert old.committed() == (ErrorCode.NONE, 7), "it is in the log"
    assert before.error is ErrorCode.NOT_COORDINATOR
    later = old.commit(9)
    old.log.replicas.set()
    await settle()
    assert later.error is ErrorCode.NONE
    assert old.committed() == (ErrorCode.NONE, 9)


async def test_members_continue_with_the_new_coordinator_in_their_generation(old: Broker, new: Broker) -> None:
    member = old.join().result.member_id
    synced = old.sync(member, 1)
    await settle()
    assert synced.result.error is ErrorCode.NONE
    commit = old.commit(5, member, 1)
    await settle()
    assert commit.error is ErrorCode.NONE
    old.follow(2)
    await new.lead(2)
    assert old.heartbeat(member, 1) is ErrorCode.NOT_COORDINATOR
    assert new.heartbeat(member, 1) is ErrorCode.NONE
    assert new.committed() == OURS
    commit = new.commit(6, member, 1)
    await settle()
    assert commit.error is ErrorCode.NONE


async def test_the_new_coordinator_does_not_know_a_generation_whose_assignment_was_not_stored(
    old: Broker, new: Broker
) -> None:
    """As in Kafka a generation is written with its assignment: a rebalance in progress starts again, in an older
    generation."""
    member = old.join().result.member_id
    old.sync(member, 1)
    await settle()
    other = old.join()  # the first member does not know of the rebalance yet
    first = old.join(member)
    assert first.result.generation_id == other.result.generation_id == 2
    waiting = old.sync(other.result.member_id, 2)
    old.follow(2)
    assert waiting.result.error is ErrorCode.NOT_COORDINATOR

    await new.lead(2)
    assert new.heartbeat(member, 2) is ErrorCode.ILLEGAL_GENERATION
    assert new.heartbeat(other.result.member_id, 2) is ErrorCode.UNKNOWN_MEMBER_ID
    assert new.commit(5, member, 2).error is ErrorCode.ILLEGAL_GENERATION
    assert new.join(member).result.generation_id == 2


async def test_an_assignment_whose_write_was_replicated_is_valid_with_the_new_coordinator(
    old: Broker, new: Broker
) -> None:
    member = old.join().result.member_id
    old.log.replicas.clear()
    waiting = old.sync(member, 1)
    await settle()
    old.follow(2)
    assert waiting.result.error is ErrorCode.NOT_COORDINATOR
    await new.lead(2)  # which has the replicated assignment
    assert new.heartbeat(member, 1) is ErrorCode.NONE
    assert new.sync(member, 1).result.assignment == b"all"


async def test_parked_joins_are_answered_and_timers_cancelled_when_the_partition_moves(old: Broker) -> None:
    member = old.join().result.member_id
    old.sync(member, 1)
    await settle()
    waiting = old.join()
    assert not waiting.is_answered
    old.follow(2)
    assert waiting.result.error is ErrorCode.NOT_COORDINATOR
    assert old.time.armed_count == 0


async def test_a_static_member_returns_to_the_new_coordinator_without_a_rebalance(old: Broker, new: Broker) -> None:
    before = old.join(instance_id="one").result
    old.sync(before.member_id, 1, "one")
    await settle()
    old.follow(2)
    await new.lead(2)
    after = new.join(instance_id="one")
    await settle()
    assert after.result.error is ErrorCode.NONE
    assert after.result.generation_id == 1
    assert after.result.member_id != before.member_id
    assert new.coordinator.membership.heartbeat("g", before.member_id, "one", 1) is ErrorCode.FENCED_INSTANCE_ID


async def test_a_member_that_does_not_find_the_new_coordinator_is_removed_after_its_session(
    old: Broker, new: Broker
) -> None:
    member = old.join().result.member_id
    old.sync(member, 1)
    await settle()
    old.follow(2)
    await new.lead(2)
    new.time.advance(SESSION_MS)
    assert new.heartbeat(member, 1) is ErrorCode.UNKNOWN_MEMBER_ID


async def test_groups_are_deleted_while_too_few_replicas_are_in_sync(old: Broker, new: Broker) -> None:
    """As in Kafka, a deletion does not wait for replicas."""
    commit = old.commit(5)
    await settle()
    assert commit.error is ErrorCode.NONE
    old.log.replicas.clear()
    assert old.coordinator.administration.delete_group("g") is ErrorCode.NONE
    await settle()
    old.follow(2)
    await new.lead(2)
    assert new.committed() == (ErrorCode.NONE, -1)


async def test_a_recreated_offsets_topic_counts_its_epochs_from_zero(old: Broker) -> None:
    old.follow(9)
    await old.lead(0)
    assert old.committed()[0] is ErrorCode.NOT_COORDINATOR
    old.follow(None)
    await old.lead(0)
    assert old.committed() == (ErrorCode.NONE, -1)


async def test_an_error_in_reading_a_partition_that_moved_meanwhile_is_ignored(old: Broker, new: Broker) -> None:
    old.commit(5)
    await settle()
    new.log.read_error = KafkaStorageError("its directory is offline")
    new.log.gate.clear()
    loading = asyncio.create_task(new.lead(2))
    await settle()
    new.follow(3)
    new.log.gate.set()
    await loading
    assert new.committed() == (ErrorCode.NOT_COORDINATOR, None)


async def test_a_failed_load_does_not_end_the_load_of_a_newer_leadership(old: Broker, new: Broker) -> None:
    commit = old.commit(5)
    await settle()
    assert commit.error is ErrorCode.NONE
    new.log.gate.clear()
    new.log.read_error = KafkaStorageError("once")
    first = asyncio.create_task(new.lead(2))
    await settle()
    new.follow(3)
    new.log.read_error = None
    second = asyncio.create_task(new.lead(4))
    await settle()
    new.log.gate.set()
    await asyncio.gather(first, second)
    assert new.committed() == OURS


# -- transactions


def write_in_transaction(topic: OffsetsTopic, offset: int, producer_id: int) -> None:
    record = (encode_offset_key("g", T0), encode_offset(OffsetAndMetadata(offset, 0, "", 1)))
    topic.write(PARTITION, build_records([record], 1, Codec.NONE, TransactionalProducer(producer_id, 0)))


def write_end(topic: OffsetsTopic, producer_id: int) -> int:
    marker = EndTransactionMarker(True, 0)
    return topic.write(PARTITION, build_marker_batch(marker, producer_id=producer_id, producer_epoch=0, timestamp_ms=1))


async def test_a_transaction_that_ends_after_the_move_takes_effect(topic: OffsetsTopic, new: Broker) -> None:
    write_in_transaction(topic, 5, 7)
    await new.lead(2)
    assert new.committed(require_stable=True) == (ErrorCode.UNSTABLE_OFFSET_COMMIT, -1)
    new.coordinator.commits.complete_transaction(PARTITION, TransactionEnd(7, True, write_end(topic, 7)))
    assert new.committed(require_stable=True) == OURS


@pytest.mark.parametrize("is_read", [True, False], ids=["read by the load", "too late to be read by the load"])
async def test_a_transaction_that_ends_while_the_partition_is_loading_takes_effect(
    topic: OffsetsTopic, new: Broker, is_read: bool
) -> None:
    write_in_transaction(topic, 5, 7)
    new.log.gate.clear()
    loading = asyncio.create_task(new.lead(2))
    await settle()
    if is_read:
        write_end(topic, 7)
    new.coordinator.commits.complete_transaction(PARTITION, TransactionEnd(7, is_commit=True, marker_offset=1))
    new.log.gate.set()
    await loading
    assert new.committed(require_stable=True) == OURS


# -- many partitions


async def test_a_few_partitions_are_loaded_at_once_in_the_order_of_their_elections() -> None:
    topic = OffsetsTopic(12)
    for partition in range(12):
        record = (encode_offset_key(f"g{partition}", T0), encode_offset(OffsetAndMetadata(5, 0, "", 1)))
        topic.write(partition, build_records([record], 1, Codec.NONE))
    broker = Broker(topic)
    broker.log.gate.clear()
    loads = [asyncio.ensure_future(broker.coordinator.partitions.load(partition, 1)) for partition in range(12)]
    await settle()
    assert broker.log.reading == {0, 1, 2, 3}
    broker.coordinator.partitions.unload(5, 2)  # it waits for its load, which is not needed any more
    broker.log.gate.set()
    await asyncio.gather(*loads)
    owned = [partition for partition in range(12) if broker.coordinator.registry.ownership.owns(partition)]
    assert owned == [0, 1, 2, 3, 4, *range(6, 12)]
    assert 5 not in broker.log.were_read


# -- any order of orders


class Loads:
    """Loads that continue in random order."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        self._tasks: list[asyncio.Future[None]] = []

    def begin(self, load: Awaitable[None]) -> None:
        self._tasks.append(asyncio.ensure_future(load))

    async def end(self) -> None:
        await asyncio.gather(*self._tasks)


ORDERS = st.lists(
    st.tuples(st.sampled_from(["lead", "follow"]), st.integers(0, 6), st.integers(0, 3), st.booleans()), max_size=12
)


@given(ORDERS)
async def test_the_newest_leadership_wins_in_any_order_of_elections_and_loads(
    orders: list[tuple[str, int, int, bool]],
) -> None:
    """Orders with the same epoch are always of the same kind, so the kind depends on the epoch."""
    topic = OffsetsTopic(1)
    before = Broker(topic)
    await before.lead(0)
    before.commit(5)
    await settle()
    broker = Broker(topic)
    loads = Loads(broker)
    newest, leads = -1, False
    kinds: dict[int, str] = {}
    for wanted, epoch, turns, is_open in orders:
        kind = kinds.setdefault(epoch, wanted)
        (broker.log.gate.set if is_open else broker.log.gate.clear)()
        if kind == "lead":
            loads.begin(broker.coordinator.partitions.load(PARTITION, epoch))
        else:
            broker.follow(epoch)
        if epoch >= newest:
            newest, leads = epoch, kind == "lead"
        expected = (
            (OURS, (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, None)) if leads else ((ErrorCode.NOT_COORDINATOR, None),)
        )
        assert broker.committed() in expected
        for _ in range(turns):
            await asyncio.sleep(0)
        assert broker.committed() in expected
    broker.log.gate.set()
    await loads.end()
    assert broker.committed() == (OURS if leads else (ErrorCode.NOT_COORDINATOR, None))
