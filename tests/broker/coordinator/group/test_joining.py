"""JoinGroup: member ids (KIP-394), timeouts (KIP-62), initial delay (KIP-134), size limit (KIP-389), protocols."""

import pytest
from pybroker.broker.coordinator.group.member import MemberProtocol
from pybroker.broker.coordinator.group.rebalance import NEW_MEMBER_JOIN_TIMEOUT_MS
from pybroker.broker.coordinator.group.settings import GroupSettings
from pybroker.broker.coordinator.group.states import GroupState
from pybroker.protocol.errors import ErrorCode
from support.clients.group_clients import (
    NO_DELAY,
    REBALANCE_MS,
    SESSION_MS,
    TEST_CAUSE,
    GroupWorld,
    protocols,
    subscription,
)

# -- a member's first join


def test_without_initial_delay_a_lone_member_gets_its_generation_at_once() -> None:
    world = GroupWorld()

    result = world.join(version=3).result

    assert result.error is ErrorCode.NONE
    assert result.generation_id == 1
    assert result.leader_id == result.member_id == "c-0001"
    assert (result.protocol_type, result.protocol_name) == ("consumer", "range")
    assert [member.member_id for member in result.members] == ["c-0001"]


def test_a_dynamic_member_gets_its_id_first_and_joins_with_it() -> None:
    world = GroupWorld()

    first = world.join().result
    assert (first.error, first.member_id) == (ErrorCode.MEMBER_ID_REQUIRED, "c-0001")
    assert not world.group().members

    second = world.join(first.member_id).result
    assert (second.error, second.member_id, second.generation_id) == (ErrorCode.NONE, "c-0001", 1)
    assert not world.group().pending_members


def test_a_join_with_a_member_id_that_was_never_handed_out_gets_unknown_member_id() -> None:
    world = GroupWorld()
    assert world.join("made-up").result.error is ErrorCode.UNKNOWN_MEMBER_ID
    world.join()
    assert world.join("made-up").result.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_member_id_that_does_not_join_within_the_session_timeout_is_forgotten() -> None:
    world = GroupWorld()
    member_id = world.join().result.member_id

    world.time.advance(SESSION_MS - 1)
    assert world.group().pending_members
    world.time.advance(1)

    assert not world.group().pending_members
    assert world.join(member_id).result.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.time.armed_count == 0


def test_a_rebalance_waits_for_clients_that_got_a_member_id() -> None:
    world = GroupWorld()
    (first,) = world.stable_group("a")
    new_id = world.join().result.member_id
    rejoin = world.join(first)
    assert not rejoin.is_answered

    late = world.join(new_id)

    assert rejoin.result.generation_id == late.result.generation_id == 2


def test_a_rebalance_ends_when_the_client_with_a_new_member_id_does_not_join() -> None:
    world = GroupWorld()
    (first,) = world.stable_group("a")
    world.join()
    rejoin = world.join(first)

    world.time.advance(SESSION_MS)

    assert rejoin.result.generation_id == 2
    assert list(world.group().members) == [first]


def test_a_new_member_id_used_with_an_instance_id_gets_unknown_member_id() -> None:
    world = GroupWorld()
    pending_id = world.join().result.member_id
    assert world.join(pending_id, instance_id="i").result.error is ErrorCode.UNKNOWN_MEMBER_ID


# -- the initial delay (KIP-134)


def test_members_that_join_within_the_initial_delay_share_the_first_generation() -> None:
    world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=3_000))
    first = world.join(version=3)
    world.time.advance(2_000)
    second = world.join(version=3)
    world.time.advance(1_000)
    assert not first.is_answered  # a new member came: it waits again
    world.time.advance(3_000)

    assert first.result.generation_id == second.result.generation_id == 1
    assert first.result.leader_id == first.result.member_id == second.result.leader_id


def test_a_lone_member_waits_for_one_initial_delay() -> None:
    world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=3_000))
    first = world.join(version=3)
    world.time.advance(2_999)
    assert not first.is_answered
    world.time.advance(1)
    assert first.result.generation_id == 1


def test_new_members_extend_the_initial_delay_up_to_the_rebalance_timeout() -> None:
    world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=3_000))
    calls = [world.join(version=3, rebalance_ms=7_000)]
    for _ in range(6):
        world.time.advance(1_000)
        calls.append(world.join(version=3, rebalance_ms=7_000))
    world.time.advance(999)
    assert not any(call.is_answered for call in calls)
    world.time.advance(1)
    assert {call.result.generation_id for call in calls} == {1}


def test_a_group_whose_members_leave_within_the_initial_delay_becomes_empty() -> None:
    world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=3_000))
    call = world.join(version=3)
    (member,) = world.group().members.values()
    world.parts.rebalances.remove_member(world.group(), member, TEST_CAUSE)
    assert call.result.error is ErrorCode.UNKNOWN_MEMBER_ID

    world.time.advance(3_000)

    assert world.group().state is GroupState.EMPTY
    assert world.join(version=3) is not None


# -- rebalances (KIP-62)


def test_a_new_member_makes_the_others_join_again() -> None:
    world = GroupWorld()
    (first,) = world.stable_group("a")

    second = world.join(version=3, client_id="b")

    assert world.heartbeat(first, 1) is ErrorCode.REBALANCE_IN_PROGRESS
    assert not second.is_answered
    rejoin = world.join(first)
    assert rejoin.result.generation_id == second.result.generation_id == 2
    assert rejoin.result.leader_id == second.result.leader_id == first
    assert [member.member_id for member in rejoin.result.members] == [first, "b-0002"]
    assert second.result.members == ()


def test_a_member_that_does_not_join_again_within_the_rebalance_timeout_is_removed() -> None:
    world = GroupWorld()
    leader, other = world.stable_group("a", "b")
    new = world.join(version=3)
    rejoin = world.join(other)
    for _ in range(REBALANCE_MS // 5_000 - 1):
        world.time.advance(5_000)
        assert world.heartbeat(leader, 2) is ErrorCode.REBALANCE_IN_PROGRESS  # alive, but does not join again
    assert not new.is_answered
    world.time.advance(5_000)

    assert new.result.generation_id == rejoin.result.generation_id == 3
    assert new.result.leader_id == other
    assert world.heartbeat(leader, 3) is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_waits_for_the_longest_rebalance_timeout_of_its_members() -> None:
    world = GroupWorld()
    slow = world.join(version=3, rebalance_ms=300_000, session_ms=SESSION_MS).result.member_id
    world.sync(slow, 1)
    quick = world.join(version=3, rebalance_ms=1_000)
    for _ in range(59):
        world.time.advance(5_000)
        world.heartbeat(slow, 1)
    assert not quick.is_answered
    world.time.advance(5_000)
    assert quick.result.generation_id == 2


def test_the_first_join_of_a_member_waits_for_five_minutes_at_most() -> None:
    world = GroupWorld()
    (first,) = world.stable_group("a")
    world.join(first, rebalance_ms=30 * 60_000)  # it leads, so this starts a rebalance
    assert world.sync(first, 2).result.error is ErrorCode.NONE
    new = world.join(version=3)
    for _ in range(NEW_MEMBER_JOIN_TIMEOUT_MS // 5_000 - 1):
        world.time.advance(5_000)
        world.heartbeat(first, 2)
    assert not new.is_answered
    world.time.advance(5_000)

    assert (new.result.error, new.result.member_id) == (ErrorCode.UNKNOWN_MEMBER_ID, "")
    assert list(world.group().members) == [first]


def test_a_member_with_a_parked_join_needs_no_heartbeats() -> None:
    world = GroupWorld()
    leader, other = world.stable_group("a", "b")
    rejoin = world.join(leader)
    for _ in range(5):
        world.time.advance(SESSION_MS // 2)
        world.heartbeat(other, 2)
    assert leader in world.group().members

    assert world.join(other).is_answered
    assert rejoin.result.generation_id == 3
    # From now on it must send heartbeats again.
    world.time.advance(SESSION_MS)
    assert leader not in world.group().members


def test_a_repeated_join_without_change_gets_the_current_generation() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")

    again = world.join(follower).result

    assert (again.generation_id, again.leader_id, again.members) == (2, leader, ())
    assert world.group().state is GroupState.STABLE


def test_a_repeated_join_before_the_sync_gets_the_current_generation() -> None:
    world = GroupWorld()
    first = world.join(version=3).result
    assert world.group().state is GroupState.COMPLETING_REBALANCE

    assert world.join(first.member_id).result == first


def test_a_leader_that_joins_again_starts_a_rebalance() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")

    call = world.join(leader)

    assert not call.is_answered
    assert world.heartbeat(follower, 2) is ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("is_synced", [False, True])
def test_a_member_that_joins_with_new_metadata_starts_a_rebalance(is_synced: bool) -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")
    if not is_synced:
        world.join(leader)
        world.join(follower)
        assert world.group().state is GroupState.COMPLETING_REBALANCE

    call = world.join(follower, protocols_=protocols("range", metadata=subscription("orders", "bills")))

    assert not call.is_answered
    assert world.group().state is GroupState.PREPARING_REBALANCE


def test_an_older_parked_join_is_answered_when_the_member_joins_again() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")
    earlier = world.join(leader)
    again = world.join(leader)
    assert (
        earlier.result.error is ErrorCode.REBALANCE_IN_PROGRESS
    )  # so that requests behind it on its connection are answered
    assert not again.is_answered

    world.join(follower)

    assert again.result.generation_id == 3


def test_a_rebalance_ends_as_soon_as_all_members_have_joined() -> None:
    world = GroupWorld()
    leader, follower = world.stable_group("a", "b")
    assert not world.join(leader).is_answered
    assert world.join(follower).is_answered
    assert world.group().join_timer is None


# -- protocols


def test_the_protocol_is_one_that_all_members_support_and_most_prefer() -> None:
    world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=1_000))
    calls = [
        world.join(version=3, protocols_=protocols(*names))
        for names in (
            ("sticky", "range", "robin"),
            ("range", "robin"),
            ("robin", "range", "sticky"),
            ("robin", "range"),
        )
    ]
    world.time.advance(2_000)
    # Not all members support sticky. Range and robin have two votes each; range got its first vote earlier.
    assert {call.result.protocol_name for call in calls} == {"range"}


def test_a_join_with_another_protocol_type_or_no_common_protocol_is_refused() -> None:
    world = GroupWorld()
    world.join(version=3, protocols_=protocols("range", "robin"))

    for fields in (
        {"protocol_type": "connect"},
        {"protocols_": protocols("sticky")},
        {"protocols_": ()},
        {"protocol_type": ""},
    ):
        result = world.join(version=3, **fields).result
        assert result.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL, fields


@pytest.mark.parametrize(("protocol_type", "names"), [("", ("range",)), ("consumer", ())])
def test_a_join_to_an_empty_group_needs_a_protocol_type_and_a_protocol(
    protocol_type: str, names: tuple[str, ...]
) -> None:
    world = GroupWorld()
    result = world.join(version=3, protocol_type=protocol_type, protocols_=protocols(*names)).result
    assert result.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_groups_of_any_protocol_type_work_with_opaque_metadata() -> None:
    world = GroupWorld()
    blob = b"\xff\xfe opaque"
    result = world.join(version=3, protocol_type="connect", protocols_=(MemberProtocol("v1", blob),)).result
    assert (result.protocol_type, result.protocol_name) == ("connect", "v1")
    assert result.members[0].metadata == blob
    assert world.group().subscribed_topics is None


def test_an_empty_group_accepts_another_protocol_type() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    world.parts.rebalances.remove_member(world.group(), world.group().members[member_id], TEST_CAUSE)
    assert world.group().state is GroupState.EMPTY

    result = world.join(version=3, protocol_type="connect", protocols_=protocols("v1")).result

    assert (result.error, result.protocol_type, result.generation_id) == (ErrorCode.NONE, "connect", 3)


def test_a_generation_has_the_subscribed_topics_of_its_members() -> None:
    world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=1_000))
    world.join(version=3, protocols_=protocols("range", metadata=subscription("a", "b")))
    world.join(version=3, protocols_=protocols("range", metadata=subscription("ü")))
    world.time.advance(2_000)
    assert world.group().subscribed_topics == frozenset({"a", "b", "ü"})


# -- limits


@pytest.mark.parametrize(
    ("session_ms", "is_allowed"), [(5_999, False), (6_000, True), (1_800_000, True), (1_800_001, False)]
)
def test_session_timeouts_outside_the_limits_are_refused(session_ms: int, is_allowed: bool) -> None:
    world = GroupWorld()
    error = world.join(version=3, session_ms=session_ms).result.error
    assert error is (ErrorCode.NONE if is_allowed else ErrorCode.INVALID_SESSION_TIMEOUT)


def test_a_full_stable_group_refuses_new_members() -> None:
    world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=0, max_size=2))
    world.stable_group("a", "b")

    result = world.join(version=3).result

    assert (result.error, result.member_id) == (ErrorCode.GROUP_MAX_SIZE_REACHED, "")
    assert world.group().state is GroupState.STABLE


def test_the_last_member_to_join_again_is_removed_when_new_members_filled_the_group() -> None:
    world = GroupWorld(GroupSettings(initial_rebalance_delay_ms=0, max_size=2))
    (first,) = world.stable_group("a")
    newcomers = [world.join(version=3), world.join(version=3)]
    assert not newcomers[0].is_answered

    refused = world.join(first).result

    assert refused.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert {call.result.generation_id for call in newcomers} == {2}
    assert first not in world.group().members
    assert world.join(version=3).result.error is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_loaded_group_above_the_size_limit_shrinks_in_a_rebalance() -> None:
    big = GroupWorld(NO_DELAY)
    ids = big.stable_group("a", "b", "c")
    small = GroupWorld(GroupSettings(initial_rebalance_delay_ms=0, max_size=2))
    small.parts.registry.add(big.group())
    small.parts.rebalances.prepare(small.group(), TEST_CAUSE)

    calls = [small.join(member_id) for member_id in ids]

    assert [call.result.error for call in calls] == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
    ]


# -- whose group is it


def test_joins_are_refused_by_another_coordinator_and_while_loading() -> None:
    world = GroupWorld(owned=())
    partition = world.parts.registry.partition_for("g")
    assert world.join().result.error is ErrorCode.NOT_COORDINATOR
    world.parts.registry.ownership.begin_loading(partition, 1)
    assert world.join().result.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.parts.registry.finish_loading(partition, [])
    assert world.join().result.error is ErrorCode.MEMBER_ID_REQUIRED
    world.parts.registry.ownership.is_active = False
    assert world.join().result.error is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_join_to_the_empty_group_id_is_refused() -> None:
    assert GroupWorld().join(group_id="").result.error is ErrorCode.INVALID_GROUP_ID
