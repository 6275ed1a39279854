"""The transaction coordinator: from a request to its record, its markers and its completion."""

import asyncio

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.init_rules import InitRequest
from pybroker.broker.coordinator.transaction.listing import ListFilter
from pybroker.broker.coordinator.transaction.memory import new_transaction_bytes
from pybroker.broker.coordinator.transaction.outcomes import Response
from pybroker.broker.coordinator.transaction.requesting_producer import RequestingProducer
from pybroker.broker.coordinator.transaction.settings import TransactionSettings
from pybroker.broker.coordinator.transaction.waiting_requests import MAX_WAIT_S
from pybroker.protocol.errors import (
    CoordinatorLoadInProgressError,
    ErrorCode,
    KafkaError,
    KafkaStorageError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    RecordTooLargeError,
    RequestTimedOutError,
)
from pybroker.protocol.sentinels import NO_LEADER
from support.in_process.transaction_world import OTHER_BROKER, TransactionWorld
from support.time.loop_turns import let_the_loop_turn

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)
WAIT_MS = int(MAX_WAIT_S * 1000)


async def begun(world: TransactionWorld, *partitions: TopicPartition) -> RequestingProducer:
    """A producer of the id "a" with an open transaction."""
    producer = await world.producer("a")
    assert await world.add("a", producer, *(partitions or (FIRST,))) is ErrorCode.NONE
    return producer


async def waiting_for_markers() -> tuple[TransactionWorld, RequestingProducer]:
    """A transaction of id "a" that is being committed: its markers are held back."""
    world = await TransactionWorld().load()
    world.holds_markers = True
    producer = await begun(world)
    await world.end("a", producer)
    return world, producer


async def reloaded(world: TransactionWorld, epoch: int) -> TransactionWorld:
    """The coordinator of the same records on another broker."""
    return await TransactionWorld(topic=world.log.store).load(epoch)


async def test_a_committed_transaction_has_a_marker_in_each_partition_and_is_complete() -> None:
    world = await TransactionWorld().load(epoch=7)
    producer = await begun(world, FIRST, SECOND)

    assert await world.end("a", producer) is ErrorCode.NONE

    assert [partition for _, partition in world.markers] == [FIRST, SECOND]
    for marker, _ in world.markers:
        assert (marker.producer_id, marker.producer_epoch) == producer
        assert (marker.is_commit, marker.coordinator_epoch) == (True, 7)
    assert world.state("a") == "CompleteCommit"


async def test_an_end_is_answered_before_its_markers_are_written() -> None:
    world = await TransactionWorld().load()
    world.holds_markers = True
    producer = await begun(world)
    assert await world.end("a", producer, is_commit=False) is ErrorCode.NONE
    assert world.state("a") == "PrepareAbort"
    world.held.pop()(ErrorCode.NONE)
    await let_the_loop_turn()
    assert world.state("a") == "CompleteAbort"


async def test_no_marker_is_written_before_the_decision_is_committed() -> None:
    world = await TransactionWorld().load()
    producer = await begun(world)
    world.log.replicas.clear()
    replies: list[object] = []
    world.coordinator.requests.end("a", producer, replies.append, is_commit=True)
    await let_the_loop_turn()
    assert (replies, world.markers) == ([], [])
    world.log.replicas.set()
    await world.turn()
    assert (len(replies), len(world.markers)) == (1, 1)


async def test_a_request_that_meets_an_ending_transaction_waits_for_its_completion() -> None:
    world, producer = await waiting_for_markers()
    replies: list[object] = []
    world.coordinator.requests.add_partitions("a", producer, [SECOND], replies.append, transaction_version=0)
    await let_the_loop_turn()
    assert replies == []

    world.held.pop()(ErrorCode.NONE)

    assert (await world.first(replies)).code is ErrorCode.NONE  # type: ignore[arg-type]
    assert world.coordinator.describe("a").partitions == {SECOND}
    assert len(replies) == 1


async def test_a_request_that_waited_long_enough_gets_concurrent_transactions() -> None:
    world, producer = await waiting_for_markers()
    replies: list[object] = []
    world.coordinator.requests.add_partitions("a", producer, [SECOND], replies.append, transaction_version=0)
    world.time.advance(WAIT_MS - 1)
    assert replies == []
    world.time.advance(1)
    assert (await world.first(replies)).code is ErrorCode.CONCURRENT_TRANSACTIONS  # type: ignore[arg-type]


async def test_a_starting_producer_aborts_the_open_transaction_and_is_answered_when_that_is_complete() -> None:
    world = await TransactionWorld().load()
    producer = await begun(world)

    response = await world.init("a")

    assert response.code is ErrorCode.NONE
    assert (response.producer_id, response.producer_epoch) == (producer.producer_id, producer.epoch + 2)
    ((marker, partition),) = world.markers
    assert (marker.is_commit, marker.producer_epoch, partition) == (False, producer.epoch + 1, FIRST)
    assert await world.end("a", producer) is ErrorCode.PRODUCER_FENCED


async def test_an_append_without_enough_replicas_is_answered_in_time_and_decides_later() -> None:
    """A record that may still be committed must not be forgotten."""
    world = await TransactionWorld(TransactionSettings(request_timeout_ms=5_000)).load()
    producer = await begun(world)
    world.log.replicas.clear()
    replies: list[object] = []
    world.coordinator.requests.end("a", producer, replies.append, is_commit=True)
    await let_the_loop_turn()
    world.time.advance(5_000)
    assert (await world.first(replies)).code is ErrorCode.COORDINATOR_NOT_AVAILABLE  # type: ignore[arg-type]
    assert world.state("a") == "Ongoing"

    world.log.replicas.set()
    await world.turn()

    assert world.state("a") == "CompleteCommit"


@pytest.mark.parametrize("error", [NotEnoughReplicasError(), RecordTooLargeError(), KafkaStorageError()])
async def test_a_new_id_whose_first_record_is_refused_is_forgotten(error: KafkaError) -> None:
    world = await TransactionWorld().load()
    world.log.append_error = error
    assert (await world.init("a")).code is not ErrorCode.NONE
    assert world.coordinator.describe("a").code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert world.coordinator.registry.memory.used_bytes == 0
    world.log.append_error = None
    assert (await world.init("a")).code is ErrorCode.NONE


async def test_a_new_id_whose_first_record_may_be_committed_later_stays_busy() -> None:
    world = await TransactionWorld().load()
    world.log.append_error = RequestTimedOutError()
    assert (await world.init("a")).code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.append_error = None
    replies: list[object] = []
    world.coordinator.requests.init_producer_id("a", InitRequest(60_000), replies.append)
    world.time.advance(WAIT_MS)
    assert (await world.first(replies)).code is ErrorCode.CONCURRENT_TRANSACTIONS  # type: ignore[arg-type]


async def test_a_refused_record_leaves_the_transaction_open() -> None:
    world = await TransactionWorld().load()
    producer = await begun(world)
    world.log.append_error = NotEnoughReplicasError()
    assert await world.end("a", producer) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.state("a") == "Ongoing"
    world.log.append_error = None
    assert await world.end("a", producer) is ErrorCode.NONE


async def test_a_completion_that_is_not_written_is_tried_again() -> None:
    world, _ = await waiting_for_markers()
    world.log.append_error = NotEnoughReplicasError()
    world.held.pop()(ErrorCode.NONE)
    await let_the_loop_turn()
    assert world.state("a") == "PrepareCommit"
    world.log.append_error = None
    world.time.advance(1_000)
    await let_the_loop_turn()
    assert world.state("a") == "CompleteCommit"
    assert len(world.markers) == 1, "markers are not written again"


async def test_a_completion_that_is_being_written_is_not_written_again() -> None:
    world, _ = await waiting_for_markers()
    count = len(world.log.store.records())
    world.log.replicas.clear()
    for _ in range(2):  # a marker that was written again after a lost response is reported twice
        world.held[0](ErrorCode.NONE)
    await let_the_loop_turn()
    world.log.replicas.set()
    await let_the_loop_turn()
    assert world.state("a") == "CompleteCommit"
    assert len(world.log.store.records()) == count + 1


async def test_an_id_gets_no_producer_id_while_there_is_none() -> None:
    world = await TransactionWorld().load()
    world.no_producer_id = CoordinatorLoadInProgressError()
    assert (await world.init("a")).code is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert world.coordinator.describe("a").code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


# -- markers


async def test_markers_for_another_broker_go_together_in_one_request() -> None:
    world = await TransactionWorld().load()
    world.leaders = {FIRST: OTHER_BROKER, SECOND: OTHER_BROKER}
    producer = await begun(world, FIRST, SECOND)
    await world.end("a", producer)
    ((markers, answered),) = world.requests
    assert [each.partitions for each in markers] == [(FIRST, SECOND)]
    assert world.state("a") == "PrepareCommit"
    answered({producer.producer_id: {FIRST: ErrorCode.NONE, SECOND: ErrorCode.NONE}})
    await let_the_loop_turn()
    assert world.state("a") == "CompleteCommit"


async def test_markers_are_sent_again_when_there_is_no_response() -> None:
    world = await TransactionWorld().load()
    world.leaders = {FIRST: OTHER_BROKER}
    await world.end("a", await begun(world))
    world.requests.pop()[1](None)
    assert world.requests == []
    world.time.advance(100)
    assert len(world.requests) == 1


async def test_a_partition_that_fails_here_delays_no_other_partition() -> None:
    world, _ = await waiting_for_markers()
    other = await world.producer("b")
    await world.add("b", other, SECOND)
    await world.end("b", other)
    world.held[1](ErrorCode.NONE)
    await let_the_loop_turn()
    assert (world.state("a"), world.state("b")) == ("PrepareCommit", "CompleteCommit")
    world.held[0](ErrorCode.NOT_ENOUGH_REPLICAS)
    world.time.advance(100)
    assert [partition for _, partition in world.markers] == [FIRST, SECOND, FIRST]


async def test_a_partition_without_a_leader_gets_its_marker_when_it_has_one() -> None:
    world = await TransactionWorld().load()
    world.leaders = {FIRST: NO_LEADER}
    await world.end("a", await begun(world))
    assert world.markers == []
    world.leaders = {}
    world.coordinator.leaders_changed()
    await world.turn()
    assert world.state("a") == "CompleteCommit"


async def test_a_deleted_partition_needs_no_marker() -> None:
    world = await TransactionWorld().load()
    world.leaders = {FIRST: None}
    await world.end("a", await begun(world))
    await let_the_loop_turn()
    assert (world.markers, world.state("a")) == ([], "CompleteCommit")


async def test_many_markers_are_written_in_several_turns_of_the_loop() -> None:
    world = await TransactionWorld().load()
    producer = await begun(world, *(TopicPartition("t", index) for index in range(120)))
    world.coordinator.requests.end("a", producer, lambda _response: None, is_commit=True)
    await let_the_loop_turn()
    written = []
    for _ in range(4):
        written.append(len(world.markers))
        world.time.turn()
    assert written == [0, 50, 100, 120]
    await let_the_loop_turn()
    assert world.state("a") == "CompleteCommit"


# -- loading and unloading


async def test_a_new_coordinator_writes_the_markers_of_decided_transactions_under_its_own_epoch() -> None:
    world = await TransactionWorld().load(epoch=3)
    world.holds_markers = True
    producer = await begun(world, FIRST, SECOND)
    await world.end("a", producer, is_commit=False)
    world.held[0](ErrorCode.NONE)

    successor = await reloaded(world, epoch=4)

    await successor.turn()
    assert [(marker.coordinator_epoch, marker.is_commit, each) for marker, each in successor.markers] == [
        (4, False, FIRST),
        (4, False, SECOND),
    ]
    assert successor.state("a") == "CompleteAbort"


async def test_a_new_coordinator_knows_open_transactions_and_idle_ids() -> None:
    world = await TransactionWorld().load()
    producer = await begun(world)
    await world.producer("b")
    successor = await reloaded(world, epoch=1)
    assert (successor.state("a"), successor.state("b")) == ("Ongoing", "Empty")
    assert await successor.end("a", producer) is ErrorCode.NONE


async def test_requests_get_not_coordinator_after_another_broker_was_elected() -> None:
    world, producer = await waiting_for_markers()
    replies: list[object] = []
    world.coordinator.requests.add_partitions("a", producer, [SECOND], replies.append, transaction_version=0)  # waits

    for partition in range(4):
        world.coordinator.partitions.unload(partition, 1)

    assert (await world.first(replies)).code is ErrorCode.NOT_COORDINATOR  # type: ignore[arg-type]
    assert await world.end("a", producer) is ErrorCode.NOT_COORDINATOR
    world.held.pop()(ErrorCode.NONE)
    world.time.advance(10_000)
    await let_the_loop_turn()
    assert world.log.store.records()[-1].value[2 + 8 + 2 + 4] == 2, "PrepareCommit"  # type: ignore[index]
    assert world.coordinator.registry.memory.used_bytes == 0


async def test_no_marker_is_written_after_another_broker_was_elected() -> None:
    world = await TransactionWorld().load()
    world.leaders = {FIRST: NO_LEADER}
    await world.end("a", await begun(world))
    for partition in range(4):
        world.coordinator.partitions.unload(partition, 1)
    world.leaders = {}
    world.coordinator.leaders_changed()
    world.time.advance(10_000)
    assert world.markers == []


async def test_a_coordinator_reads_its_partition_again_in_a_new_leader_epoch() -> None:
    """The leader's log refuses an append of the epoch before. Its id would stay pending as long as the broker leads."""
    world = await TransactionWorld().load(epoch=3)
    producer = await begun(world)
    world.log.append_error = NotLeaderOrFollowerError()
    assert await world.end("a", producer) is ErrorCode.NOT_COORDINATOR
    world.log.append_error = None

    await world.load(epoch=4)

    assert await world.end("a", producer) is ErrorCode.NONE
    assert world.state("a") == "CompleteCommit"
    assert [marker.coordinator_epoch for marker, _ in world.markers] == [4]


# -- time-outs, expiry, memory, stop


async def test_a_transaction_that_lasts_too_long_is_aborted_and_its_producer_is_fenced() -> None:
    world = await TransactionWorld(TransactionSettings(abort_interval_ms=1_000)).load()
    world.coordinator.start()
    replies = await world.init("a", timeout_ms=2_500)
    producer = RequestingProducer(replies.producer_id, replies.producer_epoch)
    await world.add("a", producer, FIRST)
    world.time.advance(2_000)
    await let_the_loop_turn()
    assert world.state("a") == "Ongoing"
    world.time.advance(1_000)
    await world.turn()
    assert world.state("a") == "CompleteAbort"
    assert await world.add("a", producer, FIRST) is ErrorCode.PRODUCER_FENCED
    world.coordinator.kill()


async def test_ids_expire_after_transactional_id_expiration_ms_with_a_tombstone() -> None:
    world = await TransactionWorld(TransactionSettings(expiration_ms=10_000, expiry_interval_ms=4_000)).load()
    world.coordinator.start()
    await world.producer("a")
    world.time.advance(8_000)
    await let_the_loop_turn()
    assert world.state("a") == "Empty"
    world.time.advance(4_000)
    await let_the_loop_turn()
    assert world.coordinator.describe("a").code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert world.log.store.records()[-1].value is None
    world.coordinator.kill()


async def test_ids_expire_in_batches_of_the_topics_present_max_message_bytes() -> None:
    settings = TransactionSettings(expiration_ms=10_000, expiry_interval_ms=4_000)
    world = await TransactionWorld(settings, partition_count=1).load()
    world.coordinator.start()
    for number in range(10):
        await world.producer(f"transactional-id-{number}")
    world.log.max_message_bytes = 200  # lowered while the broker runs
    world.time.advance(12_000)
    await let_the_loop_turn()
    assert [record.value for record in world.log.store.records()[-10:]] == [None] * 10
    assert not list(world.coordinator.registry.transactions_in(0))
    world.coordinator.kill()


async def test_ids_of_all_partitions_are_listed_with_a_turn_of_the_loop_for_each() -> None:
    world = await TransactionWorld().load()
    names = [f"id-{number}" for number in range(20)]
    for name in names:
        await world.producer(name)
    listing = asyncio.ensure_future(world.coordinator.listing(ListFilter()))
    await asyncio.sleep(0)
    assert not listing.done()
    assert sorted(each.transactional_id for each in (await listing).listings) == sorted(names)


async def test_new_ids_are_refused_when_pybroker_transactions_max_bytes_is_reached() -> None:
    world = await TransactionWorld(TransactionSettings(max_bytes=2 * new_transaction_bytes("a"))).load()
    await world.producer("a")
    await world.producer("b")
    assert (await world.init("c")).code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (await world.init("a")).code is ErrorCode.NONE


async def test_partitions_over_pybroker_transactions_max_bytes_are_refused_but_the_transaction_ends() -> None:
    world = await TransactionWorld(TransactionSettings(max_bytes=new_transaction_bytes("a") + 5_000)).load()
    producer = await begun(world)
    many = [TopicPartition("t", index) for index in range(100)]
    assert await world.add("a", producer, *many) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.coordinator.describe("a").partitions == {FIRST}
    assert await world.end("a", producer) is ErrorCode.NONE
    assert world.state("a") == "CompleteCommit"


async def test_a_stopped_coordinator_answers_coordinator_not_available_and_has_no_timers() -> None:
    world = await TransactionWorld().load()
    world.coordinator.start()
    world.leaders = {FIRST: NO_LEADER}
    await world.end("a", await begun(world))
    await world.coordinator.close()
    assert world.time.armed_count == 0
    assert (await world.init("a")).code is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (await world.coordinator.listing(ListFilter())).code is ErrorCode.COORDINATOR_NOT_AVAILABLE


async def test_a_stop_does_not_wait_for_records_without_enough_replicas() -> None:
    """Their appends have no timeout: the stop would last until the replicas are back."""
    world = await TransactionWorld().load()
    producer = await begun(world)
    world.log.replicas.clear()
    replies: list[Response] = []
    world.coordinator.requests.end("a", producer, replies.append, is_commit=True)
    await let_the_loop_turn()
    await world.coordinator.close()
    assert [response.code for response in replies] == [ErrorCode.NOT_COORDINATOR]
    assert world.markers == []
