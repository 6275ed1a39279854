"""Patterns of a consumer group on a coordinator: how many there may be, and when their topics are looked up."""

from collections.abc import Generator

import pytest
from pybroker.broker.coordinator.group.consumer import regexes
from pybroker.broker.coordinator.group.consumer.name_patterns import MOST_PATTERNS
from pybroker.broker.patterns.pattern import Pattern, compile_pattern
from pybroker.protocol.errors import ErrorCode
from support.in_process.consumer_groups import Topics
from support.in_process.consumer_world import ConsumerWorld


async def looked_up(world: ConsumerWorld) -> None:
    """Let the look-ups of patterns run that have begun, and their records be written."""
    world.time.advance(1)
    await world.coordinator.settled()


def note_compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The list to which each pattern is added that is looked up from now on."""
    compiled: list[str] = []

    def noted(text: str) -> Generator[None, None, Pattern]:
        compiled.append(text)
        return compile_pattern(text)

    monkeypatch.setattr(f"{regexes.__name__}.compile_pattern", noted)
    return compiled


async def test_group_has_a_limited_number_of_different_patterns() -> None:
    world = await ConsumerWorld.loaded(Topics(t=1))
    for number in range(MOST_PATTERNS):
        assert (await world.beat(f"m{number}", 0, pattern=f"t{number}")).error is ErrorCode.NONE
    assert (await world.beat("same", 0, pattern="t0")).error is ErrorCode.NONE
    assert (await world.beat("other", 0, pattern="u")).error is ErrorCode.INVALID_REGULAR_EXPRESSION
    await world.beat("m0", -1)
    await world.beat("same", -1)
    assert (await world.beat("other", 0, pattern="u")).error is ErrorCode.NONE


async def test_member_with_a_pattern_is_refused_when_the_memory_for_groups_is_used_up() -> None:
    world = await ConsumerWorld.loaded(Topics(t=1))
    await world.beat("a", 0, pattern="t")
    world.coordinator.registry.memory.max_bytes = world.coordinator.registry.memory.used_bytes
    assert (await world.beat("b", 0, pattern="u")).error is ErrorCode.GROUP_MAX_SIZE_REACHED


async def test_topics_that_are_too_large_to_store_are_not_looked_up_by_every_heartbeat(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = note_compiled(monkeypatch)
    world = await ConsumerWorld.loaded(Topics(**{f"t{number}": 1 for number in range(50)}))
    world.log.max_message_bytes = 600
    epoch = (await world.beat("a", 0, pattern="t.*")).member_epoch
    await looked_up(world)
    for _ in range(3):
        await world.beat("a", epoch)
        await looked_up(world)
    assert compiled == ["t.*"]
    world.coordinator.consumers.topics_came_or_went()
    world.log.max_message_bytes = 1 << 20
    world.time.advance(10_000)
    await world.beat("a", epoch)
    await looked_up(world)
    assert compiled == ["t.*"] * 2
    assert len(world.group.patterns["t.*"].topics) == 50


async def test_pattern_that_comes_again_is_looked_up_again() -> None:
    world = await ConsumerWorld.loaded(Topics(t=1))
    await world.beat("a", 0, pattern="t")
    await looked_up(world)
    assert set(world.group.patterns) == {"t"}
    await world.beat("a", -1)
    assert not world.group.patterns
    await world.beat("a", 0, pattern="t")
    await looked_up(world)
    assert set(world.group.patterns) == {"t"}


async def test_patterns_of_a_member_that_changes_its_pattern_all_the_time_are_looked_up_twice_in_ten_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    compiled = note_compiled(monkeypatch)
    world = await ConsumerWorld.loaded(Topics(t=1))
    await world.beat("a", 0, pattern="t")
    await looked_up(world)

    async def change(pattern: str) -> None:
        member = world.group.members["a"]
        answer = await world.beat("a", member.epoch, pattern=pattern, owned=member.current.assigned)
        assert answer.error is ErrorCode.NONE
        await looked_up(world)

    for number in range(99):
        await change(f"u{number}")
        world.time.advance(99)
    assert compiled == ["t", "u0"]
    world.time.advance(1_000)
    await change("t")
    assert compiled == ["t", "u0", "t"]
    assert world.group.patterns["t"].topics == {"t"}
