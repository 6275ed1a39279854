"""Static members (KIP-345), and returning static leaders (KIP-814)."""

import pytest
from pybroker.broker.coordinator.group.results import LeavingMember
from pybroker.broker.coordinator.group.states import GroupState
from pybroker.protocol.errors import ErrorCode, NotLeaderOrFollowerError
from support.clients.group_clients import SESSION_MS, TEST_CAUSE, GroupWorld, protocols


@pytest.fixture
def world() -> GroupWorld:
    """Stable: static leader `lead` and static follower `follow`, generation 2."""
    world = GroupWorld()
    leader = world.join(instance_id="lead").result.member_id
    follower_call = world.join(instance_id="follow")
    world.join(leader, instance_id="lead")
    follower = follower_call.result.member_id
    for member_id in (leader, follower):
        world.sync(member_id, 2, {leader: b"L", follower: b"F"})
    assert world.group().state is GroupState.STABLE
    return world


def id_of(world: GroupWorld, instance_id: str) -> str:
    return world.group().static_members[instance_id]


def test_a_static_member_joins_in_one_step() -> None:
    world = GroupWorld()
    result = world.join(instance_id="i").result
    assert (result.error, result.member_id) == (ErrorCode.NONE, "i-0001")
    assert result.members[0].group_instance_id == "i"


def test_a_restarted_static_follower_returns_without_a_rebalance(world: GroupWorld) -> None:
    old = id_of(world, "follow")

    back = world.join(instance_id="follow").result

    assert back.error is ErrorCode.NONE
    assert back.member_id != old
    assert (back.generation_id, back.leader_id, back.members) == (2, id_of(world, "lead"), ())
    assert world.group().state is GroupState.STABLE
    assert world.sync(back.member_id, 2, instance_id="follow").result.assignment == b"F"


def test_a_restarted_static_leader_is_told_to_skip_the_assignment(world: GroupWorld) -> None:
    back = world.join(instance_id="lead", version=9).result

    assert back.leader_id == back.member_id
    assert back.skip_assignment
    assert {member.group_instance_id for member in back.members} == {"lead", "follow"}
    assert world.sync(back.member_id, 2, instance_id="lead").result.assignment == b"L"


def test_a_restarted_static_leader_that_cannot_skip_the_assignment_is_shown_another_leader_id(
    world: GroupWorld,
) -> None:
    old = id_of(world, "lead")

    back = world.join(instance_id="lead", version=8).result

    assert (back.leader_id, back.members, back.skip_assignment) == (old, (), False)
    assert world.group().leader_id == back.member_id


def test_the_new_id_of_a_static_member_is_stored_before_the_response(world: GroupWorld) -> None:
    world.topic.hold()
    call = world.join(instance_id="follow")
    assert not call.is_answered
    world.topic.release()
    assert call.result.member_id.encode() in (world.topic.records()[-1].value or b"")


def test_a_static_member_keeps_its_old_id_when_the_new_one_cannot_be_stored(world: GroupWorld) -> None:
    old = id_of(world, "follow")
    before = world.group().members[old].protocols
    world.topic.refuse(NotLeaderOrFollowerError())

    failed = world.join(instance_id="follow", protocols_=protocols("range", metadata=b"changed")).result

    assert (failed.error, failed.member_id) == (ErrorCode.NOT_COORDINATOR, "")
    assert id_of(world, "follow") == old
    assert world.group().members[old].protocols == before
    assert world.heartbeat(old, 2, instance_id="follow") is ErrorCode.NONE


def test_a_replaced_static_member_is_fenced_by_every_api(world: GroupWorld) -> None:
    old = id_of(world, "follow")
    world.join(instance_id="follow")

    assert world.heartbeat(old, 2, instance_id="follow") is ErrorCode.FENCED_INSTANCE_ID
    assert world.join(old, instance_id="follow").result.error is ErrorCode.FENCED_INSTANCE_ID
    assert world.sync(old, 2, instance_id="follow").result.error is ErrorCode.FENCED_INSTANCE_ID
    assert world.commit({}, old, 2, instance_id="follow").codes == {}
    left = world.leave(LeavingMember(old, "follow")).members[0]
    assert left.error is ErrorCode.FENCED_INSTANCE_ID
    # Without its instance id the member is only unknown, not fenced.
    assert world.heartbeat(old, 2) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_parked_join_of_a_replaced_static_member_is_fenced_at_once(world: GroupWorld) -> None:
    old = id_of(world, "follow")
    world.join(id_of(world, "lead"), instance_id="lead")  # starts a rebalance, so that joins are parked
    world.parts.rebalances.maybe_prepare(world.group(), TEST_CAUSE)
    parked = world.join(instance_id="new")
    twin = world.join(instance_id="new")

    assert parked.result.error is ErrorCode.FENCED_INSTANCE_ID
    assert not twin.is_answered
    assert world.join(old, instance_id="follow").is_answered


def test_a_parked_sync_of_a_replaced_static_member_is_fenced_and_the_group_rebalances(world: GroupWorld) -> None:
    leader, follower = id_of(world, "lead"), id_of(world, "follow")
    world.join(leader, instance_id="lead")
    world.join(follower, instance_id="follow")
    parked = world.sync(follower, 3, instance_id="follow")

    back = world.join(instance_id="follow")

    assert parked.result.error is ErrorCode.FENCED_INSTANCE_ID
    assert world.group().state is GroupState.PREPARING_REBALANCE
    world.join(leader, instance_id="lead")
    assert back.result.generation_id == 4


def test_a_returning_static_member_that_changes_the_protocol_starts_a_rebalance() -> None:
    world = GroupWorld()
    both = protocols("range", "robin")
    leader = world.join(instance_id="lead", protocols_=both).result.member_id
    world.sync(leader, 1)

    back = world.join(instance_id="lead", protocols_=protocols("robin", "range"))

    # Its only member has joined, so the rebalance ends at once.
    assert (back.result.generation_id, back.result.protocol_name) == (2, "robin")


def test_a_static_member_that_returns_while_a_rebalance_waits_for_joins_takes_part_in_it(world: GroupWorld) -> None:
    new = world.join(version=3)
    leader = world.join(id_of(world, "lead"), instance_id="lead")

    back = world.join(instance_id="follow")

    assert new.result.generation_id == back.result.generation_id == leader.result.generation_id == 3


def test_a_rebalance_that_starts_while_the_new_id_is_stored_includes_the_parked_join(world: GroupWorld) -> None:
    world.topic.hold()
    back = world.join(instance_id="follow")
    new = world.join(version=3)
    world.topic.release()
    assert not back.is_answered

    world.join(id_of(world, "lead"), instance_id="lead")

    assert back.result.generation_id == new.result.generation_id == 3


def test_a_static_member_that_returns_twice_fences_its_first_return(world: GroupWorld) -> None:
    world.topic.hold()
    first = world.join(instance_id="follow")
    second = world.join(instance_id="follow")
    assert first.result.error is ErrorCode.FENCED_INSTANCE_ID
    world.topic.release()

    assert second.result.error is ErrorCode.NONE
    assert id_of(world, "follow") == second.result.member_id


def test_a_static_member_that_is_away_within_its_session_causes_no_rebalance(world: GroupWorld) -> None:
    world.time.advance(SESSION_MS - 1)
    world.heartbeat(id_of(world, "lead"), 2, instance_id="lead")
    back = world.join(instance_id="follow").result
    world.time.advance(SESSION_MS - 1)
    assert world.heartbeat(back.member_id, 2, instance_id="follow") is ErrorCode.NONE


def test_a_static_member_that_is_away_past_its_session_is_removed(world: GroupWorld) -> None:
    for _ in range(4):
        world.time.advance(SESSION_MS // 4)
        error = world.heartbeat(id_of(world, "lead"), 2, instance_id="lead")

    assert error is ErrorCode.REBALANCE_IN_PROGRESS
    assert list(world.group().static_members) == ["lead"]


def test_a_static_member_that_misses_a_rebalance_stays_a_member_while_its_session_lasts(world: GroupWorld) -> None:
    session_ms = 1_800_000
    back = world.join(instance_id="follow", session_ms=session_ms).result
    leader = world.join(id_of(world, "lead"), instance_id="lead")
    world.time.advance(60_000)

    assert leader.result.generation_id == 3
    assert back.member_id in world.group().members
    assert back.member_id in {member.member_id for member in leader.result.members}


def test_a_rebalance_keeps_waiting_when_no_static_member_has_joined(world: GroupWorld) -> None:
    for instance_id in ("lead", "follow"):
        world.join(instance_id=instance_id, session_ms=1_800_000)
    world.parts.rebalances.prepare(world.group(), TEST_CAUSE)

    world.time.advance(60_000)
    assert world.group().state is GroupState.PREPARING_REBALANCE
    assert world.group().generation_id == 2

    back = world.join(id_of(world, "follow"), instance_id="follow")
    world.time.advance(60_000)
    assert (back.result.generation_id, back.result.leader_id) == (3, back.result.member_id)


def test_a_member_that_joined_becomes_leader_in_place_of_an_absent_static_leader(world: GroupWorld) -> None:
    world.join(instance_id="lead", session_ms=1_800_000)
    follower = id_of(world, "follow")
    world.parts.rebalances.prepare(world.group(), TEST_CAUSE)
    call = world.join(follower, instance_id="follow")
    world.time.advance(60_000)

    assert call.result.leader_id == follower
    assert len(call.result.members) == 2


def test_an_administrator_removes_static_members_by_instance_id(world: GroupWorld) -> None:
    result = world.leave(LeavingMember("", "follow"), LeavingMember("", "nobody"), LeavingMember("", None))

    assert [left.error for left in result.members] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert list(world.group().static_members) == ["lead"]
    assert world.group().state is GroupState.PREPARING_REBALANCE


def test_removing_an_unknown_instance_id_gets_unknown_member_id(world: GroupWorld) -> None:
    assert world.heartbeat(id_of(world, "lead"), 2, instance_id="nobody") is ErrorCode.UNKNOWN_MEMBER_ID
