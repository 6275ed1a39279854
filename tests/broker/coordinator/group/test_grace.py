"""Waits for members that go on because the clock moved, and their clients could not see it."""

from collections.abc import Iterable

from pybroker.broker.coordinator.group.member import Member
from pybroker.broker.coordinator.group.settings import GroupSettings
from pybroker.protocol.errors import ErrorCode
from support.clients.group_clients import REBALANCE_MS, SESSION_MS, GroupWorld

GRACE_MS = 5_000


def grace_for(world: GroupWorld, *living: str) -> None:
    """Lets the coordinator wait longer, for these members alone."""

    def grace(members: Iterable[Member]) -> int:
        return GRACE_MS if any(member.member_id in living for member in members) else 0

    world.parts.rebalances.grace = grace


def begin_anew(world: GroupWorld, *living: str) -> None:
    world.parts.rebalances.begin_waits_anew(world.group(), lambda member: member.member_id in living)


def test_session_goes_on_as_long_as_there_is_grace() -> None:
    world = GroupWorld()
    living, _ = world.stable_group("a", "b")
    grace_for(world, living)
    world.time.advance(SESSION_MS + 3 * GRACE_MS)
    assert list(world.group().members) == [living]
    grace_for(world)
    world.time.advance(GRACE_MS)
    assert list(world.group().members) == []


def test_rebalance_waits_for_joins_as_long_as_there_is_grace() -> None:
    world = GroupWorld()
    living, other = world.stable_group("a", "b")
    grace_for(world, living)
    new, again = world.join(version=3), world.join(other)
    world.time.advance(REBALANCE_MS + 3 * GRACE_MS)
    assert not new.is_answered
    assert world.join(living).result.error is new.result.error is again.result.error is ErrorCode.NONE


def test_rebalance_waits_for_syncs_as_long_as_there_is_grace() -> None:
    world = GroupWorld()
    member_id = world.join(version=3).result.member_id
    grace_for(world, member_id)
    world.time.advance(REBALANCE_MS + 3 * GRACE_MS)
    assert list(world.group().members) == [member_id]
    assert world.sync(member_id, 1, {}).result.error is ErrorCode.NONE


def test_session_of_living_member_begins_anew() -> None:
    world = GroupWorld()
    living, _ = world.stable_group("a", "b")
    world.time.advance(SESSION_MS - 1)
    begin_anew(world, living)
    world.time.advance(1)
    assert list(world.group().members) == [living]
    world.time.advance(SESSION_MS - 2)
    assert list(world.group().members) == [living]
    world.time.advance(1)
    assert list(world.group().members) == []


def test_wait_for_the_join_of_a_living_member_begins_anew() -> None:
    world = GroupWorld()
    living, other = world.stable_group("a", "b")
    new, again = world.join(version=3), world.join(other)
    heartbeats(world, living, REBALANCE_MS - 1)
    begin_anew(world, living)
    heartbeats(world, living, REBALANCE_MS - 1)
    assert not new.is_answered
    world.time.advance(1)
    assert new.result.error is again.result.error is ErrorCode.NONE
    assert living not in world.group().members


def test_wait_for_the_sync_of_a_living_member_begins_anew() -> None:
    world = GroupWorld()
    member_id = world.join(version=3).result.member_id
    heartbeats(world, member_id, REBALANCE_MS - 1)
    begin_anew(world, member_id)
    heartbeats(world, member_id, REBALANCE_MS - 1)
    assert list(world.group().members) == [member_id]
    world.time.advance(1)
    assert list(world.group().members) == []


def test_initial_delay_does_not_begin_anew() -> None:
    world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=3_000))
    call = world.join(version=3)
    world.time.advance(2_999)
    begin_anew(world, *world.group().members)
    world.time.advance(1)
    assert call.is_answered


def heartbeats(world: GroupWorld, member_id: str, duration_ms: int) -> None:
    """Lets this time pass, in which the member sends heartbeats."""
    for _ in range(duration_ms // 5_000):
        world.time.advance(5_000)
        world.heartbeat(member_id, world.group().generation_id)
    world.time.advance(duration_ms % 5_000)
