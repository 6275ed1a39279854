"""Members of a consumer group that use the classic protocol: their requests, and the times that they have for them."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.coordinator.group.commit_request import CommitRequest
from pybroker.broker.coordinator.group.migration.policy import MigrationPolicy
from pybroker.broker.coordinator.group.modern.assignment import pairs
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata
from pybroker.broker.coordinator.group.results import LeavingMember
from pybroker.broker.coordinator.group.syncing import SyncRequest
from pybroker.protocol.errors import ErrorCode
from support.clients.group_clients import REBALANCE_MS, SESSION_MS, CommitCall, SyncCall
from support.in_process.classic_client import ClassicClient
from support.in_process.consumer_groups import GROUP, SETTINGS, Topics
from support.in_process.consumer_world import ConsumerWorld


async def world_with_consumer(partitions: int = 4, **settings: object) -> ConsumerWorld:
    changed = SETTINGS._replace(**settings)  # type: ignore[arg-type]
    world = await ConsumerWorld.loaded(Topics(t=partitions, u=1), consumer_settings=changed)
    await world.beat("c", 0, names=("t",))
    return world


async def keep_alive(world: ConsumerWorld, *consumers: str) -> None:
    """The consumers send heartbeats, and give back what they must."""
    for name in consumers:
        for _ in range(2):
            current = world.group.members[name].current
            await world.beat(name, current.epoch, owned=current.assigned)


async def test_classic_member_gets_an_id_first_and_then_the_epoch_as_generation() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    assert client.send_join().result.error is ErrorCode.MEMBER_ID_REQUIRED
    assert set(world.group.members) == {"c"}
    result = await client.joined()
    assert (result.error, result.generation_id) == (ErrorCode.NONE, 2)
    assert (result.protocol_type, result.protocol_name, result.leader_id) == ("consumer", "cooperative-sticky", "")
    assert result.members == ()


async def test_consumer_gives_partitions_to_a_classic_member_that_joins() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    await client.join()
    assert client.owned == set()
    assert client.beat() is ErrorCode.NONE  # it waits until the consumer has given partitions back
    kept = (await world.beat("c", 1)).assignment
    assert (await world.beat("c", 1, owned=kept)).member_epoch == 2
    assert client.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    await client.follow()
    assert len(client.owned) == 2
    assert client.beat() is ErrorCode.NONE
    assert world.group.state_name == "Stable"


async def test_classic_member_gives_partitions_back_by_joining_again() -> None:
    world = await world_with_consumer(migration=MigrationPolicy.UPGRADE)
    client = ClassicClient(world, "a", "t")
    await client.join()
    await world.beat("c", -1)
    await client.follow()
    assert len(client.owned) == 4
    joining = await world.beat("d", 0, names=("t",))
    assert joining.assignment == {}
    await client.follow()  # it learns which to give back
    assert len(client.owned) == 2
    assert (await world.beat("d", joining.member_epoch)).assignment is None
    await client.follow()
    assigned = (await world.beat("d", joining.member_epoch)).assignment
    assert assigned is not None
    assert len(list(pairs(assigned))) == 2


async def test_policy_without_migration_refuses_classic_members() -> None:
    world = await world_with_consumer(migration=MigrationPolicy.DISABLED)
    result = ClassicClient(world, "a", "t").send_join().result
    assert result.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


async def test_full_group_refuses_classic_members_but_not_one_that_it_has() -> None:
    world = await world_with_consumer(max_size=2)
    client = ClassicClient(world, "a", "t")
    await client.join()
    assert ClassicClient(world, "b", "t").send_join().result.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert (await client.join()).error is ErrorCode.NONE


async def test_member_must_share_a_protocol_with_the_other_classic_members() -> None:
    world = await world_with_consumer()
    await ClassicClient(world, "a", "t").join()
    assert (await ClassicClient(world, "b", "t").join()).error is ErrorCode.NONE
    other = ClassicClient(world, "d", "t", keeps=False)
    assert other.send_join().result.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


async def test_member_with_unreadable_metadata_is_refused() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    await client.join()
    before = world.group.members[client.member_id]
    client.protocol_metadata = b"\0"
    assert client.send_join().result.error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert world.group.members[client.member_id] == before


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"member_id": "nobody"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"member_id": "c", "generation_id": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"generation_id": 9}, ErrorCode.ILLEGAL_GENERATION),
        ({"group_instance_id": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_name": "range"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": None, "protocol_name": None}, ErrorCode.NONE),
    ],
)
async def test_sync_that_does_not_fit_the_member_is_refused(changes: dict[str, object], error: ErrorCode) -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    await client.join()
    fields = {
        "member_id": client.member_id,
        "generation_id": client.generation_id,
        "protocol_type": "consumer",
        "protocol_name": client.protocol,
        **changes,
    }
    call = SyncCall()
    world.coordinator.membership.sync(SyncRequest(GROUP, **fields), call)  # type: ignore[arg-type]
    assert call.result.error is error


async def test_sync_in_an_older_epoch_tells_the_member_to_join_again() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    client.send_join()
    await client.joined()
    await world.beat("d", 0, names=("t",))
    assert await client.sync() is ErrorCode.REBALANCE_IN_PROGRESS


async def test_heartbeat_in_another_generation_is_refused() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    await client.join()
    client.generation_id += 1
    assert client.beat() is ErrorCode.ILLEGAL_GENERATION


async def test_heartbeat_tells_of_topics_that_grew() -> None:
    world = await world_with_consumer(migration=MigrationPolicy.UPGRADE)
    client = ClassicClient(world, "a", "t")
    await client.join()
    await world.beat("c", -1)
    await client.follow()
    assert client.beat() is ErrorCode.NONE
    world.topics.create("t", 6)
    world.coordinator.consumers.topics_changed(["t"])
    assert client.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    await client.follow()
    assert len(client.owned) == 6
    assert client.beat() is ErrorCode.NONE


async def test_member_that_does_not_join_again_in_time_is_removed() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    await client.join()
    await world.beat("d", 0, names=("t",))
    assert client.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    for _ in range(REBALANCE_MS // SESSION_MS):
        client.beat()
        await keep_alive(world, "c", "d")
        world.time.advance(SESSION_MS - 1)
    assert client.member_id in world.group.members
    client.beat()
    world.time.advance(SESSION_MS - 1)
    assert client.member_id not in world.group.members


async def test_living_member_may_join_again_later_while_a_test_moves_the_clock() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    await client.join()
    await world.beat("d", 0, names=("t",))
    assert client.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    consumers = world.coordinator.consumers
    consumers.give_grace(lambda _member: SESSION_MS)
    world.time.advance(REBALANCE_MS + 1)
    consumers.end_grace(lambda _member: True)
    for _ in range(REBALANCE_MS // SESSION_MS):
        client.beat()
        await keep_alive(world, "c", "d")
        world.time.advance(SESSION_MS - 1)
    assert client.member_id in world.group.members
    client.beat()
    world.time.advance(SESSION_MS - 1)
    assert client.member_id not in world.group.members


async def test_member_that_does_not_sync_in_time_is_removed() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    client.send_join()
    await client.joined()
    for _ in range(REBALANCE_MS // SESSION_MS):
        client.beat()
        await keep_alive(world, "c")
        world.time.advance(SESSION_MS - 1)
    assert client.member_id in world.group.members
    client.beat()
    world.time.advance(SESSION_MS - 1)
    assert client.member_id not in world.group.members


async def test_member_that_synced_keeps_its_place_by_heartbeats() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    await client.join()
    await keep_alive(world, "c")
    await client.follow()
    for _ in range(2 * REBALANCE_MS // SESSION_MS):
        assert client.beat() is ErrorCode.NONE
        await keep_alive(world, "c")
        world.time.advance(SESSION_MS - 1)
    assert client.member_id in world.group.members


async def test_member_of_the_classic_protocol_commits_in_its_generation_only() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    await client.join()
    codes = []
    for generation_id in (client.generation_id, client.generation_id + 1):
        call = CommitCall()
        offsets = {TopicPartition("t", 0): OffsetAndMetadata(7, -1, "", world.time.now_ms())}
        request = CommitRequest(GROUP, offsets, client.member_id, None, generation_id, knows_epochs=False)
        world.coordinator.commits.commit(request, call)
        await world.coordinator.settled()
        codes.append(call.error)
    assert codes == [ErrorCode.NONE, ErrorCode.ILLEGAL_GENERATION]


async def test_member_that_was_removed_with_its_partitions_has_to_give_them_up() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    await client.join()
    await keep_alive(world, "c")
    await client.follow()
    assert client.owned
    world.time.advance(SESSION_MS)
    assert client.member_id not in world.group.members
    assert (await client.join()).error is ErrorCode.UNKNOWN_MEMBER_ID
    client.owned.clear()
    assert (await client.join()).error is ErrorCode.NONE


async def test_member_leaves_and_its_partitions_go_to_the_others() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    await client.join()
    assert client.leave() is ErrorCode.NONE
    assert client.leave() is ErrorCode.UNKNOWN_MEMBER_ID
    assert set(world.group.members) == {"c"}


async def test_instance_id_that_another_member_holds_is_fenced_at_a_leave() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t", instance_id="i")
    await client.join()
    leaving = [LeavingMember("other", "i"), LeavingMember("", "j"), LeavingMember("", "i")]
    left = world.coordinator.membership.leave(GROUP, leaving).members
    errors = [ErrorCode.FENCED_INSTANCE_ID, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
    assert [each.error for each in left] == errors


async def test_static_member_changes_to_the_consumer_protocol_with_its_partitions() -> None:
    world = await world_with_consumer(migration=MigrationPolicy.UPGRADE)
    client = ClassicClient(world, "a", "t", instance_id="i")
    await client.join()
    await world.beat("c", -1)
    await client.follow()
    answer = await world.beat("new", 0, names=("t",), instance_id="i")
    assert answer.error is ErrorCode.NONE
    assert answer.assignment == world.topics.assignment(t=range(4))
    assert client.beat() is ErrorCode.FENCED_INSTANCE_ID
    assert world.group.classic.count == 0


async def test_large_group_computes_the_target_apart_while_a_classic_member_waits() -> None:
    world = await world_with_consumer(partitions=3_000, migration=MigrationPolicy.UPGRADE)
    client = ClassicClient(world, "a", "t")
    await client.join()
    assert client.beat() is ErrorCode.NONE
    for _ in range(2):  # the first computation is that of the consumer's join
        world.time.advance(0)
        await world.coordinator.settled()
    assert client.beat() is ErrorCode.REBALANCE_IN_PROGRESS


async def test_join_is_answered_when_its_records_are_written() -> None:
    world = await world_with_consumer()
    client = ClassicClient(world, "a", "t")
    client.member_id = "a"
    world.log.replicas.clear()
    call = client.send_join()
    assert not call.is_answered
    world.log.replicas.set()
    await world.coordinator.settled()
    assert call.result.error is ErrorCode.NONE
