"""Heartbeat, session timeouts and LeaveGroup."""

import pytest
from pybroker.broker.coordinator.group.results import LeavingMember
from pybroker.broker.coordinator.group.states import GroupState
from pybroker.protocol.errors import ErrorCode
from support.clients.group_clients import SESSION_MS, GroupWorld


def test_heartbeats_keep_the_session_of_a_member() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    for _ in range(10):
        world.time.advance(SESSION_MS - 1)
        assert world.heartbeat(member_id, 1) is ErrorCode.NONE
    world.time.advance(SESSION_MS)
    assert world.heartbeat(member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.group().state is GroupState.EMPTY


def test_heartbeats_start_no_timers() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    armed = world.time.armed_count
    for _ in range(1_000):
        world.heartbeat(member_id, 1)
    assert world.time.armed_count == armed == 1


def test_a_member_whose_session_expires_makes_the_others_join_again() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")
    world.time.advance(SESSION_MS // 2)
    world.heartbeat(follower, 2)
    world.time.advance(SESSION_MS // 2)

    assert world.heartbeat(follower, 2) is ErrorCode.REBALANCE_IN_PROGRESS
    result = world.join(follower).result
    assert (result.generation_id, result.leader_id) == (3, follower)
    assert leader not in world.group().members


def test_each_member_has_its_own_session_timeout() -> None:
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
def test_a_heartbeat_of_another_generation_is_refused_and_does_not_extend_the_session(generation_id: int) -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    world.time.advance(SESSION_MS - 1)
    assert world.heartbeat(member_id, generation_id) is ErrorCode.ILLEGAL_GENERATION
    world.time.advance(1)
    assert world.heartbeat(member_id, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_before_the_sync_extends_the_session() -> None:
    world = GroupWorld()
    member_id = world.join(version=3).result.member_id
    world.time.advance(SESSION_MS - 1)
    assert world.heartbeat(member_id, 1) is ErrorCode.NONE


def test_a_heartbeat_for_a_loading_group_is_accepted() -> None:
    world = GroupWorld(owned=())
    assert world.heartbeat("m", 1) is ErrorCode.NOT_COORDINATOR
    world.parts.registry.ownership.begin_loading(world.parts.registry.partition_for("g"), 1)
    assert world.heartbeat("m", 1) is ErrorCode.NONE


def test_a_heartbeat_for_a_missing_group_gets_unknown_member_id() -> None:
    assert GroupWorld().heartbeat("m", 1) is ErrorCode.UNKNOWN_MEMBER_ID


# -- leaving


def test_a_member_that_leaves_makes_the_others_join_again() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")

    result = world.leave(LeavingMember(leader))

    assert (result.error, [left.error for left in result.members]) == (ErrorCode.NONE, [ErrorCode.NONE])
    assert world.heartbeat(follower, 2) is ErrorCode.REBALANCE_IN_PROGRESS
    assert world.group().leader_id == follower


def test_a_group_whose_last_member_leaves_is_stored_as_empty() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    written = len(world.topic.records())

    world.leave(LeavingMember(member_id))

    assert world.group().state is GroupState.EMPTY
    assert world.group().generation_id == 2
    assert world.group().protocol_name is None
    assert world.time.armed_count == 0
    assert len(world.topic.records()) == written + 1


def test_a_rebalance_does_not_wait_for_a_member_that_has_left() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")
    call = world.join(leader)
    world.leave(LeavingMember(follower))
    assert call.result.generation_id == 3


def test_a_client_can_leave_with_a_member_id_that_has_not_joined() -> None:
    world = GroupWorld()
    (first,) = world.stable_group("a")
    pending = world.join().result.member_id
    call = world.join(first)
    assert not call.is_answered

    assert world.leave(LeavingMember(pending)).members[0].error is ErrorCode.NONE

    assert call.result.generation_id == 2


def test_many_members_leave_in_one_request_with_a_result_each() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")

    result = world.leave(LeavingMember(follower), LeavingMember("stranger"), LeavingMember(leader))

    assert [(left.member_id, left.error) for left in result.members] == [
        (follower, ErrorCode.NONE),
        ("stranger", ErrorCode.UNKNOWN_MEMBER_ID),
        (leader, ErrorCode.NONE),
    ]
    assert world.group().state is GroupState.EMPTY


def test_leaving_a_missing_group_or_one_of_another_coordinator_is_refused() -> None:
    result = GroupWorld().leave(LeavingMember("m"))
    assert (result.error, result.members[0].error) == (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID)
    elsewhere = GroupWorld(owned=()).leave(LeavingMember("m"))
    assert (elsewhere.error, elsewhere.members) == (ErrorCode.NOT_COORDINATOR, ())


def test_a_dead_group_answers_parked_requests_and_leaves_no_timer() -> None:
    world = GroupWorld()
    leader, _ = world.stable_group("a", "b")
    world.join()  # a member id was handed out
    parked = world.join(leader)
    group = world.group()

    group.bury(world.time.now_ms())

    assert parked.result.error is ErrorCode.NOT_COORDINATOR
    assert world.time.armed_count == 0


def test_when_many_members_fail_together_a_few_are_logged_and_the_rest_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = GroupWorld()
    world.stable_group(*map(str, range(40)))
    with caplog.at_level("INFO"):
        world.time.advance(2 * SESSION_MS)
    assert not world.group().members
    assert sum("failed, its session expired" in line for line in caplog.messages) == 10
    assert [line for line in caplog.messages if "members failed" in line] == ["group g: 40 members failed"]


def test_members_that_fail_one_by_one_are_all_logged(caplog: pytest.LogCaptureFixture) -> None:
    world = GroupWorld()
    with caplog.at_level("INFO"):
        for _ in range(15):
            world.stable_group("a")
            world.time.advance(2 * SESSION_MS)
    assert sum("failed, its session expired" in line for line in caplog.messages) == 15
    assert not any("members failed" in line for line in caplog.messages)
