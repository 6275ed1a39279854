"""Results that groups compute apart from requests, while too few replicas are in sync to store them."""

from collections.abc import Generator

import pytest
from pybroker.broker.coordinator.group.consumer import regexes
from pybroker.broker.coordinator.group.modern.heartbeat_answer import HeartbeatAnswer
from pybroker.broker.patterns.pattern import Pattern, compile_pattern
from pybroker.protocol.errors import ErrorCode, NotEnoughReplicasError
from support.in_process.consumer_groups import Topics
from support.in_process.consumer_world import ConsumerWorld
from support.in_process.offsets_topic import AwaitedOffsetsTopic
from support.share_groups.coordinator import ShareGroupWorld
from support.share_groups.decisions import share_heartbeat

MANY = 3_000


def lose_replicas(log: AwaitedOffsetsTopic) -> None:
    log.append_error = NotEnoughReplicasError()
    log.known_refusal = ErrorCode.NOT_ENOUGH_REPLICAS


def have_replicas_again(log: AwaitedOffsetsTopic) -> None:
    log.append_error = None
    log.known_refusal = ErrorCode.NONE


async def test_target_of_a_large_group_is_computed_by_the_first_heartbeat_when_enough_replicas_are_in_sync() -> None:
    world = await ConsumerWorld.loaded(Topics(t=MANY))
    await world.beat("a", 0, names=("t",))
    joining = world.send("b", 0, names=("t",))
    await world.coordinator.settled()
    lose_replicas(world.log)
    world.time.advance(0)
    await world.coordinator.settled()
    assert (joining.answer.member_epoch, joining.answer.assignment) == (2, {})
    for _ in range(3):
        reply = world.send("a", 2)
        await world.coordinator.settled()  # without a turn, so that nothing is computed in vain
        assert (reply.answer.error, reply.answer.member_epoch) == (ErrorCode.NONE, 2)
    assert (world.loads, world.group.target_epoch) == ([], 2)
    have_replicas_again(world.log)
    kept = (await world.beat("a", 2)).assignment
    assert kept is not None
    assert sum(map(len, kept.values())) == MANY // 2


async def test_target_of_a_large_share_group_is_computed_by_the_first_heartbeat_when_enough_replicas_are_in_sync() -> (
    None
):
    world = await ShareGroupWorld.loaded(Topics(t=MANY))
    await world.beat("a", 0, "t")
    await world.beat("a", 1)
    epoch = world.group.target_epoch
    answers: list[HeartbeatAnswer] = []
    world.shares.heartbeat(share_heartbeat("b", 0, "t"), answers.append)
    await world.coordinator.settled()
    lose_replicas(world.log)
    await world.settled()
    (joined,) = answers
    assert (joined.error, joined.member_epoch) == (ErrorCode.NONE, epoch)
    for _ in range(3):
        assert (await world.beat("a", epoch)).error is ErrorCode.NONE
    assert (world.loads, world.group.target_epoch) == ([], epoch)
    have_replicas_again(world.log)
    shared = (await world.beat("a", epoch)).assignment
    assert shared is not None
    assert sum(map(len, shared.values())) == MANY // 2


async def test_states_of_a_topic_deleted_while_too_few_replicas_are_in_sync_are_forgotten_by_a_later_heartbeat() -> (
    None
):
    world = await ShareGroupWorld.loaded(Topics(t=1, u=1))
    await world.beat("a", 0, "t", "u")
    lose_replicas(world.log)
    world.topics.delete("u")
    world.shares.topics_changed(["u"])
    await world.settled()
    assert world.loads == []
    have_replicas_again(world.log)
    await world.beat("a", 1)
    assert {topic.name for topic in world.group.states.initialized.values()} == {"t"}


async def test_patterns_are_looked_up_by_the_first_heartbeat_when_enough_replicas_are_in_sync(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looked_up: list[str] = []

    def look_up(text: str) -> Generator[None, None, Pattern]:
        looked_up.append(text)
        return compile_pattern(text)

    monkeypatch.setattr(regexes, "compile_pattern", look_up)
    world = await ConsumerWorld.loaded(Topics(t1=1))
    epoch = (await world.beat("a", 0, pattern="t.*")).member_epoch
    lose_replicas(world.log)
    for _ in range(3):
        world.time.advance(0)
        assert (await world.beat("a", epoch)).error is ErrorCode.NONE
    assert (world.loads, world.group.patterns) == ([], {})
    assert len(looked_up) == 1, "only the first had begun before"
    have_replicas_again(world.log)
    await world.beat("a", epoch)
    world.time.advance(0)
    await world.coordinator.settled()
    assert set(world.group.patterns["t.*"].topics) == {"t1"}


async def test_topics_that_came_while_too_few_replicas_were_in_sync_are_looked_up_afterwards() -> None:
    world = await ConsumerWorld.loaded(Topics(t1=1))
    await world.beat("a", 0, pattern="t.*")
    world.time.advance(0)
    await world.coordinator.settled()
    epoch = (await world.beat("a", 1)).member_epoch
    world.topics.create("t2", 1)
    world.coordinator.consumers.topics_came_or_went()
    world.time.advance(10_000)
    looking = world.send("a", epoch)
    lose_replicas(world.log)
    world.time.advance(0)
    await world.coordinator.settled()
    assert looking.answer.error is ErrorCode.NONE
    assert world.loads == []
    have_replicas_again(world.log)
    await world.beat("a", epoch)
    world.time.advance(0)
    await world.coordinator.settled()
    assert set(world.group.patterns["t.*"].topics) == {"t1", "t2"}
