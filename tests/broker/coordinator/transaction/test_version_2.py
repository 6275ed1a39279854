"""The coordinator with producers of transaction version 2, which get a new epoch with every transaction (KIP-890)."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.transaction.outcomes import Response
from pybroker.broker.coordinator.transaction.picture import MAX_PRODUCER_EPOCH
from pybroker.broker.coordinator.transaction.requesting_producer import RequestingProducer
from pybroker.broker.coordinator.transaction.waiting_requests import MAX_WAIT_S
from pybroker.protocol.errors import ErrorCode
from support.in_process.transaction_world import TransactionWorld
from support.time.loop_turns import let_the_loop_turn

FIRST, SECOND = TopicPartition("t", 0), TopicPartition("t", 1)


async def begun() -> tuple[TransactionWorld, RequestingProducer]:
    world = await TransactionWorld().load()
    producer = await world.producer("a")
    assert await world.add_in_version_2("a", producer, FIRST) is ErrorCode.NONE
    return world, producer


def next_epoch(producer: RequestingProducer) -> RequestingProducer:
    return producer._replace(epoch=producer.epoch + 1)


async def last_epoch_begun(world: TransactionWorld) -> RequestingProducer:
    """The last epoch of a producer id, with an open transaction. The records say so that this broker loads."""
    producer = await world.producer("a")
    for transaction in world.coordinator.registry.transactions_in(world.coordinator.partition_for("a")):
        last = transaction.current.producer._replace(epoch=MAX_PRODUCER_EPOCH)
        transaction.current = transaction.current._replace(producer=last)
    last_epoch = producer._replace(epoch=MAX_PRODUCER_EPOCH)
    assert await world.add_in_version_2("a", last_epoch, FIRST) is ErrorCode.NONE
    return last_epoch


@pytest.mark.parametrize("is_commit", [True, False])
async def test_an_end_answers_the_next_epoch_and_writes_markers_with_it(is_commit: bool) -> None:
    world, producer = await begun()
    response = await world.end_and_bump("a", producer, is_commit=is_commit)
    assert response == Response(ErrorCode.NONE, *next_epoch(producer))
    ((marker, _),) = world.markers
    assert (marker.producer_epoch, marker.is_commit, marker.bumps_epochs) == (producer.epoch + 1, is_commit, True)


async def test_a_repeated_end_gets_the_same_answer() -> None:
    world, producer = await begun()
    first = await world.end_and_bump("a", producer)
    assert await world.end_and_bump("a", producer) == first
    assert len(world.markers) == 1


async def test_a_repeated_end_waits_for_the_markers() -> None:
    world, producer = await begun()
    world.holds_markers = True
    first = await world.end_and_bump("a", producer)
    replies: list[Response] = []
    world.coordinator.requests.end_and_bump("a", producer, replies.append, is_commit=True)
    await let_the_loop_turn()
    assert replies == []
    world.held.pop()(ErrorCode.NONE)
    assert await world.first(replies) == first


async def test_the_abort_of_nothing_bumps_the_epoch_and_the_commit_of_nothing_is_refused() -> None:
    world = await TransactionWorld().load()
    producer = await world.producer("a")
    assert (await world.end_and_bump("a", producer)).code is ErrorCode.INVALID_TXN_STATE
    response = await world.end_and_bump("a", producer, is_commit=False)
    assert response == Response(ErrorCode.NONE, *next_epoch(producer))
    assert (world.state("a"), world.markers) == ("CompleteAbort", [])
    assert await world.add_in_version_2("a", next_epoch(producer), FIRST) is ErrorCode.NONE


async def test_a_delayed_end_cannot_end_the_next_transaction() -> None:
    """KAFKA-17754: the network delivers the request again after the producer has begun its next transaction."""
    world, producer = await begun()
    await world.end_and_bump("a", producer)
    await world.add_in_version_2("a", next_epoch(producer), SECOND)
    assert (await world.end_and_bump("a", producer)).code is ErrorCode.PRODUCER_FENCED
    assert world.state("a") == "Ongoing"


async def test_a_delayed_end_of_version_0_ends_the_next_transaction() -> None:
    """The fault that version 2 repairs: the second transaction is committed, though its producer did not ask for it."""
    world = await TransactionWorld().load()
    producer = await world.producer("a")
    await world.add("a", producer, FIRST)
    await world.end("a", producer)
    await world.add("a", producer, SECOND)
    assert await world.end("a", producer) is ErrorCode.NONE
    assert world.state("a") == "CompleteCommit"


async def test_exhausted_epochs_give_the_next_producer_id() -> None:
    world = await TransactionWorld().load()
    producer = await last_epoch_begun(world)
    response = await world.end_and_bump("a", producer)
    assert (response.code, response.producer_epoch) == (ErrorCode.NONE, 0)
    assert response.producer_id != producer.producer_id
    ((marker, _),) = world.markers
    assert (marker.producer_id, marker.producer_epoch) == (producer.producer_id, MAX_PRODUCER_EPOCH + 1)
    fresh = RequestingProducer(response.producer_id, 0)
    assert await world.add_in_version_2("a", fresh, FIRST) is ErrorCode.NONE


@pytest.mark.parametrize("is_exhausted", [True, False])
async def test_requests_of_the_next_transaction_wait_until_the_markers_are_written(is_exhausted: bool) -> None:
    world = await TransactionWorld().load()
    if is_exhausted:
        producer = await last_epoch_begun(world)
    else:
        producer = await world.producer("a")
        await world.add_in_version_2("a", producer, FIRST)
    world.holds_markers = True
    response = await world.end_and_bump("a", producer)
    following = RequestingProducer(response.producer_id, response.producer_epoch)
    replies: list[Response] = []
    requests = world.coordinator.requests
    requests.add_partitions("a", following, [SECOND], replies.append, transaction_version=2)
    requests.end_and_bump("a", following, replies.append, is_commit=False)
    world.time.advance(int(MAX_WAIT_S * 1000))
    assert [each.code for each in replies] == [ErrorCode.CONCURRENT_TRANSACTIONS] * 2
    world.held.pop()(ErrorCode.NONE)
    await let_the_loop_turn()
    assert await world.add_in_version_2("a", following, SECOND) is ErrorCode.NONE


@pytest.mark.parametrize("are_markers_written", [True, False])
async def test_the_next_producer_id_is_known_after_a_move_of_the_coordinator(are_markers_written: bool) -> None:
    world = await TransactionWorld().load()
    producer = await last_epoch_begun(world)
    world.holds_markers = not are_markers_written
    response = await world.end_and_bump("a", producer)
    other = await TransactionWorld(topic=world.log.store).load(epoch=1)
    await other.turn()
    assert other.state("a") == "CompleteCommit"
    assert await other.end_and_bump("a", producer) == response


async def test_a_timed_out_transaction_is_aborted_with_the_next_epoch_and_fences_its_producer() -> None:
    world, producer = await begun()
    world.coordinator.start()
    world.time.advance(200_000)
    await world.turn()
    assert world.state("a") == "CompleteAbort"
    ((marker, _),) = world.markers
    assert marker.producer_epoch == producer.epoch + 1
    assert await world.add_in_version_2("a", producer, SECOND) is ErrorCode.PRODUCER_FENCED
