"""Heartbeats, sessions and leaving."""

import pytest
from pybroker.broker.coordinator.group.results import LeavingMember
from pybroker.broker.coordinator.group.states import GroupState
from pybroker.protocol.errors import ErrorCode
from support.clients.group_clients import SESSION_MS, GroupWorld


def test_heartbeats_keep_a_member() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    for _ in range(10):
        world.time.advance(SESSION_MS - 1)
        assert world.heartbeat(member_id, 1) is ErrorCode.NONE
    world.time.advance(SESSION_MS)
    assert world.heartbeat(member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.group().state is GroupState.EMPTY


def test_heartbeats_arm_no_timers() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    armed = world.time.armed_count
    for _ in range(1_000):
        world.heartbeat(member_id, 1)
    assert world.time.armed_count == armed == 1


def test_a_failed_member_makes_the_others_join_again() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")
    world.time.advance(SESSION_MS // 2)
    world.heartbeat(follower, 2)
    world.time.advance(SESSION_MS // 2)

    assert world.heartbeat(follower, 2) is ErrorCode.REBALANCE_IN_PROGRESS
    result = world.join(follower).result
    assert (result.generation_id, result.leader_id) == (3, follower)
    assert leader not in world.group().members


def test_each_member_has_its_own_session_time_out() -> None:
    world = GroupWorld()
    short = world.join(version=3, session_ms=6_000).result.member_id
    world.sync(short, 1)
    long = world.join(version=3, session_ms=30_000)
    world.join(short, session_ms=6_000)
    for one in (short, long.result.member_id):
        world.sync(one, 2)
    world.time.advance(6_000)
    assert list(world.group().members) == [long.result.member_id]


@pytest.mark.parametrize("generation_id", [0, 2, -1])
def test_a_heartbeat_of_another_generation_is_refused_and_does_not_count(generation_id: int) -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    world.time.advance(SESSION_MS - 1)
    assert world.heartbeat(member_id, generation_id) is ErrorCode.ILLEGAL_GENERATION
    world.time.advance(1)
    assert world.heartbeat(member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_heartbeats_before_the_sync_count() -> None:
    world = GroupWorld()
    member_id = world.join(version=3).result.member_id
    world.time.advance(SESSION_MS - 1)
    assert world.heartbeat(member_id, 1) is ErrorCode.NONE


def test_a_heartbeat_for_a_group_being_read_is_taken_for_good() -> None:
    world = GroupWorld(owned=())
    assert world.heartbeat("m", 1) is ErrorCode.NOT_COORDINATOR
    world.rules.registry.begin_loading(world.rules.registry.partition_for("g"), 1)
    assert world.heartbeat("m", 1) is ErrorCode.NONE


def test_a_heartbeat_for_a_group_that_does_not_exist_is_of_an_unknown_member() -> None:
    assert GroupWorld().heartbeat("m", 1) is ErrorCode.UNKNOWN_MEMBER_ID


# -- leaving


def test_who_leaves_makes_the_others_join_again() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")

    result = world.leave(LeavingMember(leader))

    assert (result.error, [left.error for left in result.members]) == (ErrorCode.NONE, [ErrorCode.NONE])
    assert world.heartbeat(follower, 2) is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.group().leader_id == follower


def test_when_the_last_one_leaves_the_group_is_empty_and_that_is_stored() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    written = len(world.topic.records())

    world.leave(LeavingMember(member_id))

    assert world.group().state is GroupState.EMPTY
    assert world.group().generation_id == 2
    assert world.group().protocol_name is None
    assert world.time.armed_count == 0
    assert len(world.topic.records()) == written + 1


def test_when_one_leaves_for_whom_a_rebalance_waits_it_waits_no_longer() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")
    call = world.join(leader)
    world.leave(LeavingMember(follower))
    assert call.result.generation_id == 3


def test_one_who_was_handed_an_id_may_give_it_back() -> None:
    world = GroupWorld()
    (first,) = world.stable_group("a")
    pending = world.join().result.member_id
    call = world.join(first)
    assert not call.is_answered

    assert world.leave(LeavingMember(pending)).members[0].error is ErrorCode.NONE

    assert call.result.generation_id == 2


def test_many_leave_at_once_and_each_hears_its_own_outcome() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")

    result = world.leave(LeavingMember(follower), LeavingMember("stranger"), LeavingMember(leader))

    assert [(left.member_id, left.error) for left in result.members] == [
        (follower, ErrorCode.NONE),
        ("stranger", ErrorCode.UNKNOWN_MEMBER_ID),
        (leader, ErrorCode.NONE),
    ]
    assert world.group().state is GroupState.EMPTY


def test_nobody_leaves_a_group_that_is_not_there_or_not_ours() -> None:
    result = GroupWorld().leave(LeavingMember("m"))
    assert (result.error, result.members[0].error) == (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID)
    elsewhere = GroupWorld(owned=()).leave(LeavingMember("m"))
    assert (elsewhere.error, elsewhere.members) == (ErrorCode.NOT_COORDINATOR, ())


def test_a_buried_group_turns_everybody_away_and_leaves_no_timer() -> None:
    world = GroupWorld()
    leader, _ = world.stable_group("a", "b")
    world.join()  # an id is out
    parked = world.join(leader)
    group = world.group()

    world.rules.rebalances.mark_dead(group)

    assert parked.result.error is ErrorCode.NOT_COORDINATOR
    assert world.time.armed_count == 0


def test_of_many_members_that_vanish_together_a_few_are_named_and_the_rest_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = GroupWorld()
    world.stable_group(*map(str, range(40)))
    with caplog.at_level("INFO"):
        world.time.advance(2 * SESSION_MS)
    assert not world.group().members
    assert sum("failed, its session expired" in line for line in caplog.messages) == 10
    assert [line for line in caplog.messages if "members failed" in line] == ["group g: 40 members failed"]


def test_members_that_vanish_one_by_one_are_all_named(caplog: pytest.LogCaptureFixture) -> None:
    world = GroupWorld()
    with caplog.at_level("INFO"):
        for _ in range(15):
            world.stable_group("a")
            world.time.advance(2 * SESSION_MS)
    assert sum("failed, its session expired" in line for line in caplog.messages) == 15
    assert not any("members failed" in line for line in caplog.messages)
