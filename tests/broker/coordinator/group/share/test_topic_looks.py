"""A share group of many partitions looks at its topics apart from heartbeats, which act on what it found."""

from collections.abc import Generator
from typing import Any

import pytest
from pybroker.broker.coordinator.group.modern.heartbeat_answer import HeartbeatAnswer
from pybroker.broker.coordinator.group.modern.records import GroupEpoch, TargetEpoch
from pybroker.broker.coordinator.group.share import topic_looks
from pybroker.broker.coordinator.group.share.records import StatePartitions
from pybroker.broker.coordinator.group.share.states import with_new_partitions_steps
from support.in_process.consumer_groups import Topics
from support.share_groups.coordinator import ShareGroupWorld
from support.share_groups.decisions import share_heartbeat

MANY = 1_100


async def large_group(topics: Topics) -> ShareGroupWorld:
    """A group whose member "a" has all partitions of "t"."""
    world = await ShareGroupWorld.loaded(topics)
    await world.beat("a", 0, "t")
    answer = await world.beat("a", 1)
    assert answer.assignment == topics.assignment(t=range(MANY))
    return world


def grow(world: ShareGroupWorld) -> None:
    world.topics.create("t", MANY + 1)
    world.shares.topics_changed(["t"])


def failing_steps(*arguments: Any) -> Generator[None, None, None]:
    yield
    raise RuntimeError


def epoch_of(world: ShareGroupWorld) -> int:
    return world.group.members["a"].current.epoch


async def test_heartbeat_during_the_look_is_answered_as_if_nothing_had_changed() -> None:
    world = await large_group(Topics(t=MANY))
    epoch = world.group.epoch
    grow(world)
    answers: list[HeartbeatAnswer] = []
    world.shares.heartbeat(share_heartbeat("a", epoch_of(world)), answers.append)
    (answer,) = answers
    assert (answer.member_epoch, answer.assignment) == (epoch, None)
    assert not world.group.states.initializing


async def test_heartbeats_after_the_look_get_the_new_partition() -> None:
    world = await large_group(Topics(t=MANY))
    grow(world)
    await world.settled()
    await world.beat("a", epoch_of(world))
    answer = await world.beat("a", epoch_of(world))
    assert answer.assignment == world.topics.assignment(t=range(MANY + 1))
    written = sum(map(len, world.log.store.batches))
    assert (await world.beat("a", epoch_of(world))).assignment is None
    assert sum(map(len, world.log.store.batches)) == written


async def test_topic_that_changes_during_the_look_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = await large_group(Topics(t=MANY))
    looks = 0

    def last_steps(states: StatePartitions, *arguments: Any) -> Generator[None, None, StatePartitions]:
        nonlocal looks
        result = yield from with_new_partitions_steps(states, *arguments)
        looks += 1
        if looks == 1:
            grow(world)
        return result

    monkeypatch.setattr(topic_looks, "with_new_partitions_steps", last_steps)
    world.shares.topics_changed(["t"])
    await world.settled()
    assert looks == 2
    assert world.group.look is not None
    assert world.group.look.states.initializing


async def test_large_group_is_looked_at_when_it_was_loaded() -> None:
    before = await large_group(Topics(t=MANY))
    before.topics.create("t", MANY + 1)
    after = await ShareGroupWorld.loaded(before.topics, log=before.log)
    await after.settled()
    assert after.group.look is not None
    assert after.group.look.states.initializing


async def test_target_that_came_after_a_look_is_computed_anew() -> None:
    """It may have been computed before the change that the look saw."""
    world = await large_group(Topics(t=MANY))
    world.shares.topics_changed(["t"])
    await world.settled()
    epoch = world.group.epoch
    world.group.apply(TargetEpoch(epoch - 1))
    world.group.apply(GroupEpoch(epoch - 1, world.group.metadata_hash))
    await world.beat("a", epoch)
    assert world.group.epoch == epoch


async def test_states_of_deleted_topics_that_nobody_reads_any_more_are_forgotten_together() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=1, u=1, v=1))
    await world.beat("a", 0, "t", "u", "v")
    await world.beat("a", 1, "v")
    for topic in ("t", "u"):
        world.topics.delete(topic)
    written = sum(map(len, world.log.store.batches))
    world.shares.topics_changed(["t", "u"])
    await world.settled()
    assert list(world.group.states.initialized) == [world.topics.topic_id("v")]
    assert sum(map(len, world.log.store.batches)) == written + 1


async def test_member_leaves_a_large_group_during_the_look() -> None:
    world = await large_group(Topics(t=MANY))
    grow(world)
    await world.beat("a", -1)
    await world.settled()
    assert world.group.is_empty
    answer = await world.beat("b", 0, "t")
    for _ in range(3):
        answer = await world.beat("b", answer.member_epoch)
    assert world.group.members["b"].current.assigned == world.topics.assignment(t=range(MANY + 1))


async def test_coordinator_moves_during_the_look() -> None:
    world = await large_group(Topics(t=MANY))
    group = world.group
    grow(world)
    for partition in range(world.log.partition_count):
        world.coordinator.partitions.unload(partition, 1)
    await world.settled()
    assert group.look is None


async def test_failed_look_is_tried_again_by_the_next_heartbeat(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    world = await large_group(Topics(t=MANY))
    with monkeypatch.context() as broken:
        broken.setattr(topic_looks, "assignable_steps", failing_steps)
        grow(world)
        await world.settled()
    assert "changed topics not looked at" in caplog.text
    assert world.group.look is None
    await world.beat("a", epoch_of(world))
    await world.settled()
    assert world.group.look is not None
