"""A clock that tests move waits for transactions, but not for those that cannot go on since before the move."""

import asyncio

from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode, NotEnoughReplicasError
from pybroker.protocol.sentinels import NO_LEADER
from support.in_process.transaction_world import OTHER_BROKER, TransactionWorld
from support.time.loop_turns import let_the_loop_turn

PARTITION = TopicPartition("t", 0)


async def ending(leader: int = OTHER_BROKER) -> TransactionWorld:
    """A transaction whose marker the leader must write."""
    world = await TransactionWorld().load()
    world.leaders = {PARTITION: leader}
    producer = await world.producer("a")
    await world.add("a", producer, PARTITION)
    await world.end("a", producer)
    return world


async def settling(world: TransactionWorld, *, is_stuck: bool = True, within_s: float = 60) -> "asyncio.Task[None]":
    """A wait that has begun. ``is_stuck``: the transactions were ending before."""
    until_s = asyncio.get_running_loop().time() + within_s
    stuck = world.coordinator.busy() if is_stuck else set()
    task = asyncio.create_task(world.coordinator.settled(stuck, until_s))
    await let_the_loop_turn()
    return task


def answer(world: TransactionWorld, code: ErrorCode) -> None:
    markers, answered = world.requests.pop()
    answered({each.marker.producer_id: dict.fromkeys(each.partitions, code) for each in markers})


async def test_wait_lasts_while_a_marker_is_tried() -> None:
    world = await ending()
    task = await settling(world)
    assert not task.done()
    answer(world, ErrorCode.NONE)
    await asyncio.wait_for(task, 60)
    assert world.state("a") == "CompleteCommit"


async def test_wait_ends_when_the_attempt_has_failed() -> None:
    world = await ending()
    task = await settling(world)
    answer(world, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    await asyncio.wait_for(task, 60)
    assert world.state("a") == "PrepareCommit"


async def test_wait_ends_when_the_leader_does_not_answer_in_time() -> None:
    world = await ending()
    await asyncio.wait_for(await settling(world, within_s=0.01), 60)
    assert world.state("a") == "PrepareCommit"


async def test_transaction_without_a_leader_is_not_waited_for() -> None:
    world = await ending(NO_LEADER)
    world.coordinator.retry_markers()
    await asyncio.wait_for(await settling(world), 60)
    assert world.state("a") == "PrepareCommit"


async def test_transaction_that_ends_during_the_move_is_waited_for_over_failed_attempts() -> None:
    world = await ending()
    task = await settling(world, is_stuck=False, within_s=0)
    answer(world, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    await let_the_loop_turn()
    assert not task.done()
    world.time.advance(100)
    answer(world, ErrorCode.NONE)
    await asyncio.wait_for(task, 60)


async def test_markers_are_tried_again_at_once() -> None:
    world = await ending()
    answer(world, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert world.requests == []
    world.coordinator.retry_markers()
    task = await settling(world)
    answer(world, ErrorCode.NONE)
    await asyncio.wait_for(task, 60)
    assert world.state("a") == "CompleteCommit"


async def test_completion_is_tried_again_at_once() -> None:
    world = await ending()
    world.log.append_error = NotEnoughReplicasError()
    answer(world, ErrorCode.NONE)
    await let_the_loop_turn()
    world.log.append_error = None
    assert (await settling(world)).done(), "it waits for its next attempt"
    world.coordinator.retry_markers()
    await asyncio.wait_for(await settling(world), 60)
    assert world.state("a") == "CompleteCommit"
