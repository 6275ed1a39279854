"""Consumer groups on a coordinator: responses wait for records, timers remove members, groups change their type."""

import asyncio
from collections.abc import Generator
from unittest.mock import patch

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.commit_request import CommitRequest
from pybroker.broker.coordinator.group.commits import FetchingMember
from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.joining import JoinRequest
from pybroker.broker.coordinator.group.modern.assignors.assignor import Assigned, GroupSpec
from pybroker.broker.coordinator.group.modern.assignors.table import ASSIGNORS
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata
from pybroker.broker.coordinator.group.results import LeavingMember
from pybroker.protocol.errors import ErrorCode, GroupIdNotFoundError, NotEnoughReplicasError
from support.clients.group_clients import SESSION_MS, CommitCall, JoinCall, protocols
from support.in_process.consumer_groups import GROUP, SETTINGS, Topics
from support.in_process.consumer_world import ConsumerWorld

CONSUMER_SESSION_MS = SETTINGS.session_timeout_ms
T0 = TopicPartition("t", 0)


class _Failing:
    """An assignor that cannot assign."""

    def steps(self, spec: object) -> Generator[None, None, Assigned]:
        yield
        raise ValueError("no assignment")


class _Slow:
    """The assignor `uniform` on a broker that takes two seconds for it."""

    def __init__(self, world: ConsumerWorld) -> None:
        self._world = world
        self._uniform = ASSIGNORS["uniform"]

    def steps(self, spec: GroupSpec) -> Generator[None, None, Assigned]:
        yield
        self._world.time.advance(2_000)
        return (yield from self._uniform.steps(spec))


def batch_count(world: ConsumerWorld) -> int:
    return sum(map(len, world.log.store.batches))


async def test_heartbeat_of_a_join_is_written_as_one_batch() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    answer = await world.beat("a", 0, names=("t",))
    assert answer.assignment == world.topics.assignment(t=range(3))
    assert batch_count(world) == 1


async def test_stable_heartbeats_write_nothing() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    for _ in range(3):
        assert (await world.beat("a", 1)).member_epoch == 1
    assert batch_count(world) == 1


async def test_response_waits_until_the_records_are_written() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    world.log.replicas.clear()
    joining = world.send("a", 0, names=("t",))
    repeated = world.send("a", 0, names=("t",))
    await asyncio.sleep(0)
    assert joining.answers == repeated.answers == []
    world.log.replicas.set()
    await world.coordinator.settled()
    assert joining.answer.member_epoch == repeated.answer.member_epoch == 1


async def test_partition_is_loaded_anew_when_records_are_not_written() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    world.log.append_error = NotEnoughReplicasError()
    answer = await world.beat("b", 0, names=("t",))
    assert answer.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (await world.beat("a", 1)).error is ErrorCode.NOT_COORDINATOR
    world.log.append_error = None
    await world.load_again()
    assert set(world.group.members) == {"a"}
    assert (await world.beat("a", 1)).error is ErrorCode.NONE


async def test_partition_is_loaded_anew_when_records_are_refused_after_the_offsets_topic_grew() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    partition = world.coordinator.partition_for(GROUP)
    world.log.append_error = NotEnoughReplicasError()
    joining = world.send("b", 0, names=("t",))
    world.log.store.grow(7)
    assert world.coordinator.partition_for(GROUP) != partition
    await world.coordinator.settled()
    assert joining.answer.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.loads == [(partition, 0)]
    world.log.append_error = None
    await world.load_again()
    assert set(world.group.members) == {"a"}


async def test_heartbeat_while_the_partition_is_loaded_is_told_so() -> None:
    world = ConsumerWorld(Topics(t=3))
    world.log.gate.clear()
    await (await ConsumerWorld.loaded(world.topics, log=world.log)).coordinator.settled()
    loading = asyncio.ensure_future(world.coordinator.partitions.load(world.coordinator.partition_for(GROUP), 0))
    assert world.send("a", 0, names=("t",)).answer.error is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    world.log.gate.set()
    await loading


async def test_new_coordinator_has_the_members_and_gives_them_a_new_session() -> None:
    before = await ConsumerWorld.loaded(Topics(t=3))
    await before.beat("a", 0, names=("t",))
    after = await ConsumerWorld.loaded(before.topics, log=before.log)
    assert (await after.beat("a", 1)).member_epoch == 1
    await asyncio.sleep(0)
    after.time.advance(CONSUMER_SESSION_MS - 1)
    assert set(after.group.members) == {"a"}
    after.time.advance(1)
    assert after.group.is_empty


async def test_member_without_heartbeats_is_removed_after_its_session() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    await world.beat("b", 0, names=("t",))
    world.time.advance(CONSUMER_SESSION_MS - 1)
    await world.beat("a", 1)
    world.time.advance(1)
    assert set(world.group.members) == {"a"}
    world.time.advance(CONSUMER_SESSION_MS - 1)
    assert world.group.is_empty
    await world.coordinator.settled()
    assert (await ConsumerWorld.loaded(world.topics, log=world.log)).group.is_empty


async def test_changed_session_timeout_of_a_group_counts_from_the_next_heartbeat() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    world.own_settings["consumer.session.timeout.ms"] = "60000"
    await world.beat("a", 0, names=("t",))
    world.time.advance(59_999)
    assert set(world.group.members) == {"a"}
    world.own_settings["consumer.session.timeout.ms"] = "45000"
    await world.beat("a", 1)
    world.time.advance(44_999)
    assert set(world.group.members) == {"a"}
    world.time.advance(1)
    assert world.group.is_empty


async def test_heartbeat_interval_of_a_group_is_told_with_the_next_response() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    assert (await world.beat("a", 0, names=("t",))).heartbeat_interval_ms == SETTINGS.heartbeat_interval_ms
    world.own_settings["consumer.heartbeat.interval.ms"] = "7000"
    assert (await world.beat("a", 1)).heartbeat_interval_ms == 7_000


async def test_member_that_keeps_partitions_too_long_is_removed() -> None:
    world = await ConsumerWorld.loaded(Topics(t=4))
    first = await world.beat("a", 0, names=("t",), rebalance_timeout_ms=10_000)
    await world.beat("b", 0, names=("t",))
    assert (await world.beat("a", 1, owned=first.assignment)).member_epoch == 1
    world.time.advance(9_999)
    await world.beat("a", 1, owned=first.assignment)
    assert "a" in world.group.members
    world.time.advance(1)
    assert set(world.group.members) == {"b"}


async def test_static_member_that_leaves_for_a_while_before_it_gave_partitions_back_stays_until_its_session_ends() -> (
    None
):
    world = await ConsumerWorld.loaded(Topics(t=4))
    first = await world.beat("a", 0, names=("t",), rebalance_timeout_ms=10_000, instance_id="i")
    await world.beat("b", 0, names=("t",))
    await world.beat("a", 1, owned=first.assignment, instance_id="i")
    assert (await world.beat("a", -2, instance_id="i")).member_epoch == -2
    world.time.advance(SETTINGS.session_timeout_ms // 2)
    await world.beat("b", world.group.members["b"].epoch)
    world.time.advance(SETTINGS.session_timeout_ms // 2 - 1)
    assert set(world.group.members) == {"a", "b"}
    world.time.advance(1)
    assert set(world.group.members) == {"b"}


async def test_member_that_gives_partitions_back_in_time_stays() -> None:
    world = await ConsumerWorld.loaded(Topics(t=4))
    first = await world.beat("a", 0, names=("t",), rebalance_timeout_ms=10_000)
    await world.beat("b", 0, names=("t",))
    kept = (await world.beat("a", 1, owned=first.assignment)).assignment
    assert (await world.beat("a", 1, owned=kept)).member_epoch == 2
    world.time.advance(10_000)
    assert set(world.group.members) == {"a", "b"}


async def test_new_coordinator_gives_a_member_new_time_to_give_partitions_back() -> None:
    before = await ConsumerWorld.loaded(Topics(t=4))
    first = await before.beat("a", 0, names=("t",), rebalance_timeout_ms=10_000)
    await before.beat("b", 0, names=("t",))
    await before.beat("a", 1, owned=first.assignment)
    after = await ConsumerWorld.loaded(before.topics, log=before.log)
    after.time.advance(9_999)
    assert "a" in after.group.members
    after.time.advance(1)
    assert set(after.group.members) == {"b"}


async def test_partitions_that_a_topic_gets_are_assigned_at_the_next_heartbeat() -> None:
    world = await ConsumerWorld.loaded(Topics(t=1))
    await world.beat("a", 0, names=("t", "other"))
    world.topics.create("t", 3)
    assert (await world.beat("a", 1)).assignment is None
    world.coordinator.consumers.topics_changed(["unrelated"])
    assert (await world.beat("a", 1)).assignment is None
    world.coordinator.consumers.topics_changed(["t"])
    assert (await world.beat("a", 1)).assignment == world.topics.assignment(t=range(3))


async def test_change_of_a_topic_of_a_group_with_many_topics_is_noticed_without_a_look_at_all_in_a_heartbeat() -> None:
    names = tuple(f"t{number}" for number in range(1_500))
    world = await ConsumerWorld.loaded(Topics(**dict.fromkeys(names, 1)))
    await world.beat("a", 0, names=names)
    world.topics.create("t7", 2)
    with patch.object(world.topics, "partition_count", wraps=world.topics.partition_count) as looked_up:
        world.coordinator.consumers.topics_changed(["t7"])
        world.coordinator.consumers.topics_changed(["t8"])
        before = world.send("a", 2)
        assert looked_up.call_count == 0
    assert before.answer.assignment is None
    world.time.advance(0)
    assert (await world.beat("a", 2)).assignment == world.topics.assignment(
        **{**dict.fromkeys(names, range(1)), "t7": range(2)}
    )


async def test_new_coordinator_compares_many_topics_with_the_stored_hash() -> None:
    names = tuple(f"t{number}" for number in range(1_500))
    before = await ConsumerWorld.loaded(Topics(**dict.fromkeys(names, 1)))
    await before.beat("a", 0, names=names)
    after = await ConsumerWorld.loaded(before.topics, log=before.log)
    after.time.advance(0)
    assert (await after.beat("a", 2)).member_epoch == 2
    before.topics.create("t7", 2)
    later = await ConsumerWorld.loaded(before.topics, log=before.log)
    assert (await later.beat("a", 2)).member_epoch == 2
    later.time.advance(0)
    assert (await later.beat("a", 2)).member_epoch == 3


async def test_member_of_a_large_group_gets_its_partitions_by_the_heartbeat_with_which_it_joins() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3_000))
    joined = world.send("a", 0, names=("t",))
    await world.coordinator.settled()
    assert not joined.answers, "the target is computed in turns of the event loop"
    other = await world.beat("b", 0, names=("t",))
    assert joined.answer.member_epoch == 2
    assert joined.answer.assignment == world.topics.assignment(t=range(3_000))
    assert (other.member_epoch, other.assignment) == (3, {})
    kept = (await world.beat("a", 2)).assignment
    assert kept is not None
    assert sum(map(len, kept.values())) == 1_500


async def test_member_whose_join_makes_a_target_necessary_that_fails_is_told_so_and_the_others_keep_theirs() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3_000))
    await world.beat("a", 0, names=("t",))
    with patch.dict(ASSIGNORS, {"uniform": _Failing()}):
        assert (await world.beat("b", 0, names=("t",))).error is ErrorCode.UNKNOWN_SERVER_ERROR
        other = await world.beat("a", 2)
        assert (other.error, other.member_epoch, other.assignment) == (ErrorCode.NONE, 2, None)
        assert (await world.beat("b", 0, names=("t",))).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert (await world.beat("b", 0, names=("t",))).error is ErrorCode.NONE
    kept = (await world.beat("a", 2)).assignment
    assert kept is not None
    assert sum(map(len, kept.values())) == 1_500


async def test_session_of_a_member_whose_heartbeat_waits_for_a_target_does_not_end() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3_000))
    await world.beat("a", 0, names=("t",))
    world.time.advance(CONSUMER_SESSION_MS - 1_000)
    with patch.dict(ASSIGNORS, {"uniform": _Slow(world)}):
        joined = world.send("b", 0, names=("t",))
        await world.coordinator.settled()
        waiting = world.send("a", 2)
        for _ in range(5):
            world.time.advance(500)
            await world.coordinator.settled()
    assert [each.answer.error for each in (joined, waiting)] == [ErrorCode.NONE, ErrorCode.NONE]


async def test_member_is_told_when_the_target_of_a_large_group_is_too_large_to_store() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3_000))
    world.log.max_message_bytes = 2_000
    assert (await world.beat("a", 0, names=("t",))).error is ErrorCode.UNKNOWN_SERVER_ERROR
    world.log.max_message_bytes = 1 << 20
    assert (await world.beat("a", 0, names=("t",))).assignment == world.topics.assignment(t=range(3_000))


async def test_heartbeat_that_waits_for_a_target_is_answered_when_the_coordinator_moves() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3_000))
    joined = world.send("a", 0, names=("t",))
    await world.coordinator.settled()
    beside = world.send("b", 0, names=("t",))
    for partition in range(world.log.partition_count):
        world.coordinator.partitions.unload(partition, 1)
    world.time.advance(0)
    await world.coordinator.settled()
    assert [reply.answer.error for reply in (joined, beside)] == [ErrorCode.NOT_COORDINATOR] * 2


async def test_change_whose_records_are_too_large_is_refused_and_leaves_the_group() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    world.log.max_message_bytes = 2_000
    answer = await world.beat("b", 0, names=tuple(f"topic-{number}" for number in range(1_000)))
    assert answer.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert set(world.group.members) == {"a"}
    assert world.loads == []


async def test_change_that_is_a_little_larger_than_a_batch_may_be_is_refused_and_leaves_the_group() -> None:
    sizes: list[int] = []
    for max_message_bytes in (1 << 20, 0):
        world = await ConsumerWorld.loaded(Topics(t=3))
        await world.beat("a", 0, names=("t",))
        world.log.max_message_bytes = max_message_bytes or sizes[-1] - 1
        answer = await world.beat("a", 1, client_id="x" * 500)
        sizes.append(len(world.log.store.batches[world.coordinator.partition_for(GROUP)][-1]))
    assert answer.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.loads == []


async def test_group_that_was_refused_at_its_first_join_does_not_exist() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    world.log.max_message_bytes = 100
    assert (await world.beat("a", 0, names=("t",))).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.coordinator.registry.get(GROUP) is None


# -- types of groups


def join(world: ConsumerWorld, member_id: str = "") -> JoinCall:
    call = JoinCall()
    request = JoinRequest(GROUP, member_id, None, "c", "/h", 60_000, SESSION_MS, "consumer", protocols("range"))
    world.coordinator.membership.join(request, call)
    return call


async def commit(world: ConsumerWorld, offset: int, member_id: str = "", epoch: int = -1, **more: bool) -> ErrorCode:
    call = CommitCall()
    values = {T0: OffsetAndMetadata(offset, -1, "", world.time.now_ms())}
    world.coordinator.commits.commit(CommitRequest(GROUP, values, member_id, None, epoch, **more), call)
    await world.coordinator.settled()
    return call.error


def committed(world: ConsumerWorld, member_id: str | None = None, epoch: int = -1) -> tuple[ErrorCode, int | None]:
    member = FetchingMember(member_id, epoch)
    error, results = world.coordinator.commits.fetch(GROUP, [T0], member, require_stable=False)
    return error, results[T0].offset if results else None


async def test_empty_classic_group_becomes_a_consumer_group_and_keeps_its_offsets() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    assert await commit(world, 7) is ErrorCode.NONE
    assert (await world.beat("a", 0, names=("t",))).error is ErrorCode.NONE
    assert committed(world) == (ErrorCode.NONE, 7)
    after = await ConsumerWorld.loaded(world.topics, log=world.log)
    assert isinstance(after.coordinator.registry.get(GROUP), ConsumerGroup)
    assert committed(after) == (ErrorCode.NONE, 7)


async def test_empty_consumer_group_becomes_a_classic_group_and_keeps_its_offsets() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    assert await commit(world, 7, "a", 1) is ErrorCode.NONE
    await world.beat("a", -1)
    assert join(world).result.error is ErrorCode.NONE
    await world.coordinator.settled()
    after = await ConsumerWorld.loaded(world.topics, log=world.log)
    assert isinstance(after.coordinator.registry.get(GROUP), Group)
    assert committed(after) == (ErrorCode.NONE, 7)


async def test_requests_of_the_classic_protocol_know_no_member_of_a_consumer_group() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    assert world.coordinator.membership.heartbeat(GROUP, "a", None, 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert world.coordinator.administration.describe(GROUP).state == "Dead"


async def test_administrator_removes_a_member_by_a_leave_group_request() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    await world.beat("b", 0, names=("t",), instance_id="i")
    leaving = [LeavingMember("a"), LeavingMember("", "i"), LeavingMember("c")]
    left = world.coordinator.membership.leave(GROUP, leaving).members
    expected = [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert [each.error for each in left] == expected
    assert world.group.is_empty


@pytest.mark.parametrize(("epoch", "name"), [(1, "member"), (-1, "member"), (-2, "instance")])
async def test_heartbeat_of_a_member_of_an_unknown_group_is_refused(epoch: int, name: str) -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    instance = {"instance_id": "i"} if name == "instance" else {}
    assert (await world.beat("a", epoch, **instance)).error is ErrorCode.GROUP_ID_NOT_FOUND


async def test_deleted_group_is_gone_for_the_next_coordinator_too() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    assert world.coordinator.administration.delete_group(GROUP) is ErrorCode.NON_EMPTY_GROUP
    await world.beat("a", -1)
    assert world.coordinator.administration.delete_group(GROUP) is ErrorCode.NONE
    await world.coordinator.settled()
    after = await ConsumerWorld.loaded(world.topics, log=world.log)
    with pytest.raises(GroupIdNotFoundError):
        after.coordinator.consumers.describe(GROUP)


async def test_groups_are_listed_with_their_type_and_state() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    error, (listing,) = world.coordinator.administration.list_groups(["stable"], ["Consumer"])
    assert (error, listing) == (ErrorCode.NONE, (GROUP, "consumer", "Stable", "consumer"))


async def test_memory_of_a_group_is_given_back_when_it_is_deleted() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    before = world.coordinator.registry.memory.used_bytes
    await world.beat("a", 0, names=("t",))
    assert world.coordinator.registry.memory.used_bytes > before
    await world.beat("a", -1)
    world.coordinator.administration.delete_group(GROUP)
    assert world.coordinator.registry.memory.used_bytes == before


async def test_consumer_is_refused_when_the_memory_for_groups_is_used_up() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    world.coordinator.registry.memory.max_bytes = 1_000
    assert (await world.beat("a", 0, names=("t",))).error is ErrorCode.GROUP_MAX_SIZE_REACHED


# -- offsets


async def test_member_reads_and_commits_offsets_in_its_own_epoch_only() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    assert await commit(world, 7, "a", 1, knows_epochs=False) is ErrorCode.UNSUPPORTED_VERSION
    assert await commit(world, 7, "a", 2) is ErrorCode.STALE_MEMBER_EPOCH
    assert await commit(world, 7, "a", 1) is ErrorCode.NONE
    assert committed(world, "a", 1) == (ErrorCode.NONE, 7)
    assert committed(world, "a", 0) == (ErrorCode.STALE_MEMBER_EPOCH, None)
    assert committed(world, "b", 1) == (ErrorCode.UNKNOWN_MEMBER_ID, None)
    assert committed(world) == (ErrorCode.NONE, 7)


async def test_stopped_coordinator_has_no_timers() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    await world.coordinator.close()
    assert world.time.armed_count == 0
    assert world.send("a", 1).answer.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
