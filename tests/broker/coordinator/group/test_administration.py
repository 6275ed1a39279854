"""ListGroups, DescribeGroups, DeleteGroups, OffsetDelete, and the expiry of offsets."""

from collections.abc import Iterator

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.record_keys import OffsetKey
from pybroker.broker.coordinator.group.results import LeavingMember
from pybroker.broker.coordinator.group.settings import GroupSettings
from pybroker.broker.coordinator.group.states import GroupState
from pybroker.broker.coordinator.internal_log import AppendDone, InternalAppend
from pybroker.protocol.errors import ErrorCode
from support.clients.group_clients import GroupWorld, protocols, subscription
from support.logs.offset_keys import GroupKey, decode_key

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
ORDERS = TopicPartition("orders", 0)
DAY_MS = 24 * 3_600_000


def tombstones(world: GroupWorld) -> list[object]:
    return [decode_key(record.key or b"") for record in world.topic.records() if record.value is None]


# -- list and describe


def test_groups_are_listed_by_state_and_type() -> None:
    world = GroupWorld()
    world.stable_group("a")
    world.commit({T0: 1}, group_id="simple")
    listing = {
        (one.group_id, one.protocol_type, one.state, one.group_type)
        for one in world.parts.administration.list_groups()[1]
    }
    assert listing == {("g", "consumer", "Stable", "classic"), ("simple", "", "Empty", "classic")}

    def ids(*states: str, types: tuple[str, ...] = ()) -> list[str]:
        return [one.group_id for one in world.parts.administration.list_groups(states, types)[1]]

    assert ids("sTABLE") == ["g"]
    assert ids("Empty", "Dead") == ["simple"]
    assert ids("PreparingRebalance") == []
    assert ids(types=("Classic",)) == ["g", "simple"]
    assert ids(types=("consumer",)) == []


def test_listing_groups_while_a_partition_loads_returns_loading_and_the_known_groups() -> None:
    world = GroupWorld(owned=[0, 1, 2])
    world.parts.registry.ownership.begin_loading(3, 1)
    assert world.parts.administration.list_groups()[0] is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def test_a_stable_group_is_described_with_metadata_and_assignments() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    summary = world.parts.administration.describe("g")
    assert (summary.state, summary.protocol_type, summary.protocol_name) == ("Stable", "consumer", "range")
    (member,) = summary.members
    assert (member.member_id, member.client_id, member.client_host) == (member_id, "a", "/127.0.0.1")
    assert (member.metadata, member.assignment) == (subscription("orders"), f"share of {member_id}".encode())


def test_a_rebalancing_group_is_described_without_metadata() -> None:
    world = GroupWorld()
    world.join(version=3)
    summary = world.parts.administration.describe("g")
    assert (summary.state, summary.protocol_name) == ("CompletingRebalance", "")
    assert summary.members[0].metadata == b""


def test_a_group_that_does_not_exist_is_described_as_dead() -> None:
    assert GroupWorld().parts.administration.describe("g").state == "Dead"
    assert GroupWorld(owned=()).parts.administration.describe("g").error is ErrorCode.NOT_COORDINATOR


# -- deletion


def test_an_empty_group_is_deleted_with_its_offsets() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    world.commit({T0: 1, T1: 2}, member_id, 1)
    assert world.parts.administration.delete_group("g") is ErrorCode.NON_EMPTY_GROUP
    world.leave(LeavingMember(member_id))

    assert world.parts.administration.delete_group("g") is ErrorCode.NONE

    assert tombstones(world) == [OffsetKey("g", T0), OffsetKey("g", T1), GroupKey("g")]
    assert world.parts.registry.get("g") is None
    assert world.parts.administration.delete_group("g") is ErrorCode.GROUP_ID_NOT_FOUND
    assert world.committed() == {}


def test_deleting_a_group_that_never_had_a_generation_writes_no_group_tombstone() -> None:
    world = GroupWorld()
    world.commit({T0: 1})
    world.parts.administration.delete_group("g")
    assert tombstones(world) == [OffsetKey("g", T0)]


def test_a_commit_being_written_when_its_group_is_deleted_does_not_return() -> None:
    world = GroupWorld()
    world.commit({T0: 1})
    world.topic.hold()
    call = world.commit({T0: 2, T1: 3})
    world.parts.administration.delete_group("g")
    world.topic.release()
    assert call.is_answered
    assert world.committed() == {}
    # It does not return after a replay either: the tombstones follow it in the log.
    assert tombstones(world) == [OffsetKey("g", T0), OffsetKey("g", T1)]


def test_offset_delete_keeps_offsets_of_topics_that_members_read() -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    world.commit({T0: 1, ORDERS: 2}, member_id, 1)

    error, codes = world.parts.administration.delete_offsets("g", [T0, ORDERS, T1])

    assert error is ErrorCode.NONE
    assert codes == {T0: ErrorCode.NONE, ORDERS: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC, T1: ErrorCode.NONE}
    assert world.committed() == {ORDERS: 2}
    assert tombstones(world) == [OffsetKey("g", T0)]


def test_offset_delete_keeps_offsets_of_a_group_whose_subscriptions_are_unknown() -> None:
    world = GroupWorld()
    member_id = world.join(version=3, protocols_=protocols("range", metadata=b"garbage")).result.member_id
    world.sync(member_id, 1)
    world.commit({T0: 1}, member_id, 1)
    assert world.parts.administration.delete_offsets("g", [T0]) == (
        ErrorCode.NONE,
        {T0: ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC},
    )


def test_offset_delete_for_a_group_of_another_protocol_needs_an_empty_group() -> None:
    world = GroupWorld()
    member_id = world.join(version=3, protocol_type="connect", protocols_=protocols("v1")).result.member_id
    world.sync(member_id, 1)
    world.commit({T0: 1}, member_id, 1)
    assert world.parts.administration.delete_offsets("g", [T0]) == (ErrorCode.NON_EMPTY_GROUP, {})
    world.leave(LeavingMember(member_id))
    assert world.parts.administration.delete_offsets("g", [T0]) == (ErrorCode.NONE, {T0: ErrorCode.NONE})
    assert world.parts.registry.get("g") is None  # its last offset was deleted


def test_offset_delete_for_a_missing_group_gets_group_id_not_found() -> None:
    assert GroupWorld().parts.administration.delete_offsets("g", [T0]) == (ErrorCode.GROUP_ID_NOT_FOUND, {})
    assert GroupWorld().parts.administration.delete_offsets("", [T0]) == (ErrorCode.INVALID_GROUP_ID, {})


def test_offsets_are_deleted_with_their_topic() -> None:
    world = GroupWorld()
    world.commit({T0: 1, ORDERS: 2})
    world.commit({T0: 3}, group_id="other")
    world.topic.hold()
    under_way = world.commit({T1: 9})

    world.parts.administration.forget_partitions([T0, T1])
    world.topic.release()

    assert under_way.error is ErrorCode.NONE
    assert world.committed() == {ORDERS: 2}
    assert world.parts.registry.get("other") is None
    assert set(tombstones(world)) == {OffsetKey("g", T0), OffsetKey("g", T1), OffsetKey("other", T0)}


class OnlyAsked(frozenset[TopicPartition]):
    """Otherwise ten thousand groups would each go through ten thousand deleted partitions."""

    def __iter__(self) -> Iterator[TopicPartition]:
        raise AssertionError


def test_offsets_of_deleted_partitions_are_found_without_iterating_over_the_partitions() -> None:
    world = GroupWorld()
    world.commit({ORDERS: 2, T0: 1})
    world.topic.hold()
    world.commit({T1: 9})
    others = [TopicPartition("others", index) for index in range(100)]
    assert world.group().offsets.known_among(OnlyAsked([T1, *others, T0])) == [T0, T1]
    world.topic.release()


# -- expiry (KIP-211)


@pytest.fixture
def world() -> GroupWorld:
    return GroupWorld(GroupSettings(initial_rebalance_delay_ms=0, retention_ms=7 * DAY_MS))


def test_offsets_of_an_empty_group_expire_counted_from_when_it_became_empty(world: GroupWorld) -> None:
    (member_id,) = world.stable_group("a")
    world.commit({T0: 1}, member_id, 1)
    for _ in range(3 * DAY_MS // 9_000):
        world.time.advance(9_000)
        world.heartbeat(member_id, 1)
    world.leave(LeavingMember(member_id))

    world.time.advance(7 * DAY_MS - 1)
    assert world.parts.administration.expire() == 0
    world.time.advance(1)
    assert world.parts.administration.expire() == 1

    assert tombstones(world) == [OffsetKey("g", T0), GroupKey("g")]
    assert world.parts.registry.get("g") is None


def test_expired_offsets_are_logged_before_their_tombstones_are_written(
    world: GroupWorld, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    world.commit({T0: 1})
    world.time.advance(8 * DAY_MS)
    lines_when_written: list[str] = []
    write = world.topic.append

    def note(append: InternalAppend, done: AppendDone) -> None:
        lines_when_written.extend(record.getMessage() for record in caplog.records)
        write(append, done)

    world.topic.append = note  # type: ignore[method-assign]
    assert world.parts.administration.expire() == 1
    deleted = f"deleted, past the {7 * 24 * 60} minutes of offsets.retention.minutes or their own retention"
    assert f"group g: offsets of {T0} {deleted}" in lines_when_written


def test_offsets_expire_except_those_of_topics_that_members_read(world: GroupWorld) -> None:
    member_id = world.join(version=3, session_ms=1_800_000).result.member_id
    world.sync(member_id, 1)
    world.commit({T0: 1, ORDERS: 2}, member_id, 1)
    for _ in range(7 * 48):
        world.time.advance(DAY_MS // 48 - 1)
        world.heartbeat(member_id, 1)
    world.time.advance(7 * 48)

    assert world.parts.administration.expire() == 1
    assert world.committed() == {ORDERS: 2}
    assert world.group().state is GroupState.STABLE


def test_offsets_of_a_group_without_protocol_expire_counted_from_their_commit(world: GroupWorld) -> None:
    world.commit({T0: 1})
    world.time.advance(DAY_MS)
    world.commit({T1: 1})
    world.time.advance(6 * DAY_MS)
    assert world.parts.administration.expire() == 1
    assert world.committed() == {T1: 1}


def test_the_retention_time_of_a_commit_overrides_the_retention_of_the_broker(world: GroupWorld) -> None:
    world.commit({T0: 1}, expire_ms=world.time.now_ms() + 1_000)
    world.time.advance(999)
    assert world.parts.administration.expire() == 0
    world.time.advance(1)
    assert world.parts.administration.expire() == 1


def test_an_offset_that_is_being_committed_does_not_expire(world: GroupWorld) -> None:
    world.commit({T0: 1})
    world.time.advance(8 * DAY_MS)
    world.topic.hold()
    world.commit({T0: 2})
    assert world.parts.administration.expire() == 0
    world.topic.release()
    assert world.committed() == {T0: 2}


def test_a_group_with_an_open_transaction_is_not_removed(world: GroupWorld) -> None:
    world.commit({T0: 1}, producer_id=3)
    world.parts.administration.expire()
    assert world.parts.registry.get("g") is not None


def test_an_unused_group_is_removed_unless_a_client_with_a_new_member_id_may_join(world: GroupWorld) -> None:
    member_id = world.join().result.member_id
    world.parts.administration.expire()
    assert world.join(member_id).result.error is ErrorCode.NONE

    other = GroupWorld()
    other.join()
    other.time.advance(10_000)
    other.parts.administration.expire()
    assert other.parts.registry.get("g") is None
    assert tombstones(other) == []
