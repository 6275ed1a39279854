"""The rings of groups' lag: points at equal steps, gaps, and which groups have a ring."""

from pathlib import Path

import pytest
from pybroker.broker.coordinator.group.base import GroupBase
from pybroker.broker.v1 import lag_histories
from pybroker.broker.v1.lag_histories import POINTS, STEP_S, LagHistories
from support.in_process.lag_world import P0, LagWorld


class Sampled:
    """Histories of the groups of a world, sampled in steps of its time."""

    def __init__(self, root: Path) -> None:
        self.world = world = LagWorld(root)
        world.host(P0)
        self.registry = world.groups.parts.registry
        self.histories = LagHistories(self.registry.groups, world.lags.steps, world.time.time, world.time.now_ms)

    async def step(self, steps: int = 1) -> None:
        self.world.time.advance(steps * STEP_S * 1000)
        await self.histories.sample()

    def group(self, name: str) -> GroupBase:
        found = self.registry.get(name)
        assert found is not None
        return found


@pytest.fixture
async def sampled(tmp_path: Path) -> Sampled:
    return Sampled(tmp_path)


async def test_points_are_the_lags_at_equal_steps_and_unknown_before_and_after_a_pause(sampled: Sampled) -> None:
    world = sampled.world
    world.commit(0)
    for records in (3, 4):
        world.produce(P0, records)
        await sampled.step()
    await sampled.step(3)
    points = sampled.histories.of(world.groups.group())
    assert points.lag == (None,) * (POINTS - 5) + (3, 7, None, None, 7)
    seconds = points.lag_s[-5:]
    assert [None if each is None else round(each) for each in seconds] == [30, 60, None, None, 150]
    assert points.end_ms == world.time.now_ms()
    await sampled.step(POINTS + 7)
    assert sampled.histories.of(world.groups.group()).lag == (None,) * (POINTS - 1) + (7,)


async def test_ring_of_a_group_that_nobody_asked_about_goes_to_one_that_is_asked_about(
    sampled: Sampled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lag_histories, "MOST_GROUPS", 2)
    world = sampled.world
    world.produce(P0, 9)
    for name, offset in (("asked", 8), ("small", 7), ("large", 1)):
        world.groups.commit({P0: offset}, group_id=name)
    await sampled.step()
    known = {name: sampled.histories.of(sampled.group(name)).lag[-1] for name in ("asked", "large")}
    assert known == {"asked": 1, "large": None}, "the group with the smaller lag gave its ring away"
    await sampled.step()
    assert [sampled.histories.of(sampled.group(name)).lag[-1] for name in ("asked", "large")] == [1, 8]


async def test_groups_asked_about_have_their_point_when_there_are_too_many_offsets(
    sampled: Sampled, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lag_histories, "_MOST_OFFSETS", 1)
    world = sampled.world
    world.produce(P0, 9)
    for name in ("first", "second"):
        world.groups.commit({P0: 4}, group_id=name)
    sampled.histories.of(sampled.group("second"))
    await sampled.step()
    lags = [sampled.histories.of(sampled.group(name)).lag[-1] for name in ("first", "second")]
    assert lags == [None, 5]
