"""SyncGroup: the leader's assignment is stored, then each member gets its own part."""

import pytest
from pybroker.broker.coordinator.group.records import decode_group
from pybroker.broker.coordinator.group.results import LeavingMember
from pybroker.broker.coordinator.group.states import GroupState
from pybroker.protocol.errors import (
    ErrorCode,
    KafkaError,
    KafkaStorageError,
    NotEnoughReplicasAfterAppendError,
    NotEnoughReplicasError,
    NotLeaderOrFollowerError,
    RecordTooLargeError,
    RequestTimedOutError,
    UnknownTopicOrPartitionError,
)
from support.clients.group_clients import REBALANCE_MS, SESSION_MS, TEST_CAUSE, GroupWorld
from support.logs.offset_keys import GroupKey, decode_key


class Pair:
    """Two members of generation 2 that have not sent a SyncGroup yet."""

    def __init__(self) -> None:
        self.world = GroupWorld()
        self.leader, self.follower = self.world.stable_group("a", "b")
        calls = [self.world.join(self.leader), self.world.join(self.follower)]
        (self.generation_id,) = {call.result.generation_id for call in calls}
        self.assignments = {self.leader: b"L", self.follower: b"F"}


@pytest.fixture
def pair() -> Pair:
    return Pair()


def test_followers_wait_for_the_leader_and_each_member_gets_its_assignment(pair: Pair) -> None:
    follower = pair.world.sync(pair.follower, pair.generation_id)
    assert not follower.is_answered

    leader = pair.world.sync(pair.leader, pair.generation_id, pair.assignments)

    assert leader.result.assignment == b"L"
    assert follower.result.assignment == b"F"
    assert (follower.result.protocol_type, follower.result.protocol_name) == ("consumer", "range")
    assert pair.world.group().state is GroupState.STABLE


def test_a_sync_in_a_stable_group_is_answered_at_once(pair: Pair) -> None:
    pair.world.sync(pair.leader, pair.generation_id, pair.assignments)
    assert pair.world.sync(pair.follower, pair.generation_id).result.assignment == b"F"


def test_members_get_the_assignment_only_after_it_is_stored(pair: Pair) -> None:
    pair.world.topic.hold()
    follower = pair.world.sync(pair.follower, pair.generation_id)
    leader = pair.world.sync(pair.leader, pair.generation_id, pair.assignments)
    assert not leader.is_answered
    assert pair.world.group().state is GroupState.COMPLETING_REBALANCE

    pair.world.topic.release()

    assert leader.result.error is follower.result.error is ErrorCode.NONE
    record = pair.world.topic.records()[-1]
    assert decode_key(record.key or b"") == GroupKey("g")
    stored = decode_group("g", record.value or b"")
    assert {m.member_id: m.assignment for m in stored.members.values()} == pair.assignments
    assert (stored.generation_id, stored.leader_id) == (pair.generation_id, pair.leader)


def test_a_repeated_sync_of_the_leader_does_not_store_twice(pair: Pair) -> None:
    pair.world.topic.hold()
    pair.world.sync(pair.leader, pair.generation_id, pair.assignments)
    again = pair.world.sync(pair.leader, pair.generation_id, {pair.leader: b"other"})
    assert pair.world.topic.held_count == 1
    pair.world.topic.release()
    assert again.result.assignment == b"L"


def test_an_older_parked_sync_of_a_member_is_answered_when_it_sends_another(pair: Pair) -> None:
    older = pair.world.sync(pair.follower, pair.generation_id)
    newer = pair.world.sync(pair.follower, pair.generation_id)
    assert older.result.error is ErrorCode.REBALANCE_IN_PROGRESS
    pair.world.sync(pair.leader, pair.generation_id, pair.assignments)
    assert newer.result.assignment == b"F"


def test_a_member_without_a_part_of_the_assignment_gets_an_empty_one(pair: Pair) -> None:
    follower = pair.world.sync(pair.follower, pair.generation_id)
    pair.world.sync(pair.leader, pair.generation_id, {pair.leader: b"L", "stranger": b"S"})
    assert (follower.result.error, follower.result.assignment) == (ErrorCode.NONE, b"")


@pytest.mark.parametrize(
    ("failure", "told"),
    [
        (UnknownTopicOrPartitionError(), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (NotEnoughReplicasError(), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (NotEnoughReplicasAfterAppendError(), ErrorCode.COORDINATOR_NOT_AVAILABLE),
        (NotLeaderOrFollowerError(), ErrorCode.NOT_COORDINATOR),
        (KafkaStorageError(), ErrorCode.NOT_COORDINATOR),
        (RequestTimedOutError(), ErrorCode.REBALANCE_IN_PROGRESS),
        (RecordTooLargeError(), ErrorCode.UNKNOWN_SERVER_ERROR),
    ],
)
def test_an_assignment_that_cannot_be_stored_starts_a_rebalance(
    pair: Pair, failure: KafkaError, told: ErrorCode
) -> None:
    follower = pair.world.sync(pair.follower, pair.generation_id)
    pair.world.topic.refuse(failure)

    leader = pair.world.sync(pair.leader, pair.generation_id, pair.assignments)

    assert (leader.result.error, follower.result.error) == (told, told)
    assert leader.result.assignment == b""
    assert pair.world.group().state is GroupState.PREPARING_REBALANCE


def test_a_rebalance_that_starts_while_the_assignment_is_stored_discards_it(pair: Pair) -> None:
    world = pair.world
    world.topic.hold()
    parked = [world.sync(one, pair.generation_id, pair.assignments) for one in (pair.leader, pair.follower)]
    world.join(version=3)

    assert [call.result.error for call in parked] == [ErrorCode.REBALANCE_IN_PROGRESS] * 2
    world.topic.release()
    assert world.group().state is GroupState.PREPARING_REBALANCE
    assert all(member.assignment == b"" for member in world.group().members.values())


def test_an_assignment_stored_late_does_not_count_for_the_next_generation(pair: Pair) -> None:
    world = pair.world
    world.topic.hold()
    world.sync(pair.leader, pair.generation_id, pair.assignments)
    world.join(pair.follower, rebalance_ms=REBALANCE_MS, protocols_=world.group().members[pair.leader].protocols[:0])
    world.parts.rebalances.maybe_prepare(world.group(), TEST_CAUSE)
    calls = [world.join(one) for one in (pair.leader, pair.follower)]
    assert {call.result.generation_id for call in calls} == {pair.generation_id + 1}

    world.topic.release()

    assert world.group().state is GroupState.COMPLETING_REBALANCE
    again = world.sync(pair.leader, pair.generation_id + 1, {pair.leader: b"new"})
    assert again.result.assignment == b"new"


def test_syncs_of_unknown_members_and_other_generations_are_refused(pair: Pair) -> None:
    world = pair.world
    assert world.sync("stranger", pair.generation_id).result.error is ErrorCode.UNKNOWN_MEMBER_ID
    for generation_id in (pair.generation_id - 1, pair.generation_id + 1, -1):
        assert world.sync(pair.leader, generation_id).result.error is ErrorCode.ILLEGAL_GENERATION
    for protocol_type, protocol_name in (("connect", None), (None, "robin")):
        call = world.sync(pair.leader, pair.generation_id, protocol_type=protocol_type, protocol_name=protocol_name)
        assert call.result.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    fine = world.sync(
        pair.leader, pair.generation_id, pair.assignments, protocol_type="consumer", protocol_name="range"
    )
    assert fine.result.error is ErrorCode.NONE


def test_a_sync_while_a_rebalance_waits_for_joins_gets_rebalance_in_progress(pair: Pair) -> None:
    pair.world.join(version=3)
    error = pair.world.sync(pair.leader, pair.generation_id, pair.assignments).result.error
    assert error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_sync_for_a_loading_group_gets_rebalance_in_progress() -> None:
    world = GroupWorld(owned=())
    world.parts.registry.ownership.begin_loading(world.parts.registry.partition_for("g"), 1)
    assert world.sync("m", 1).result.error is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_sync_for_a_missing_group_gets_unknown_member_id() -> None:
    assert GroupWorld().sync("m", 1).result.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert GroupWorld(owned=()).sync("m", 1).result.error is ErrorCode.NOT_COORDINATOR


def test_members_that_do_not_sync_within_the_rebalance_timeout_are_removed(pair: Pair) -> None:
    world = pair.world
    world.sync(pair.leader, pair.generation_id, pair.assignments)
    for _ in range(REBALANCE_MS // 5_000):
        assert pair.follower in world.group().members
        for one in (pair.leader, pair.follower):
            world.heartbeat(one, pair.generation_id)
        world.time.advance(5_000)

    assert list(world.group().members) == [pair.leader]
    assert world.group().state is GroupState.PREPARING_REBALANCE


def test_a_generation_in_which_no_member_syncs_leaves_an_empty_group(pair: Pair) -> None:
    world = pair.world
    for _ in range(REBALANCE_MS // 5_000):
        for one in (pair.leader, pair.follower):
            world.heartbeat(one, pair.generation_id)
        world.time.advance(5_000)
    assert world.group().state is GroupState.EMPTY


def test_a_member_with_a_parked_sync_needs_no_heartbeats_until_it_is_answered(pair: Pair) -> None:
    world = pair.world
    follower = world.sync(pair.follower, pair.generation_id)
    for _ in range(4):
        world.time.advance(SESSION_MS // 2)
        world.heartbeat(pair.leader, pair.generation_id)
    assert pair.follower in world.group().members

    world.sync(pair.leader, pair.generation_id, pair.assignments)

    assert follower.result.assignment == b"F"
    world.time.advance(SESSION_MS - 1)
    assert pair.follower in world.group().members
    world.time.advance(1)
    assert pair.follower not in world.group().members


def test_the_parked_sync_of_a_member_that_leaves_is_answered(pair: Pair) -> None:
    parked = pair.world.sync(pair.follower, pair.generation_id)
    pair.world.leave(LeavingMember(pair.follower))
    assert parked.result.error is ErrorCode.UNKNOWN_MEMBER_ID
