"""A LeaveGroup that names many members of a consumer group."""

import pytest
from pybroker.broker.coordinator.group.results import LeavingMember
from pybroker.protocol.errors import ErrorCode
from support.in_process.classic_client import ClassicClient
from support.in_process.consumer_groups import GROUP, SETTINGS, CoordinatedGroup, Topics, stored_state
from support.in_process.consumer_world import ConsumerWorld

COUNT = 250


async def world_of(count: int) -> ConsumerWorld:
    world = await ConsumerWorld.loaded(Topics(t=3), consumer_settings=SETTINGS._replace(max_size=1_000))
    for number in range(count):
        await world.beat(f"member-{number}", 0, names=("t",))
    return world


def batch_count(world: ConsumerWorld) -> int:
    return sum(map(len, world.log.store.batches))


def leave(world: ConsumerWorld, *member_ids: str) -> list[ErrorCode]:
    leaving = [LeavingMember(member_id) for member_id in member_ids]
    return [each.error for each in world.coordinator.membership.leave(GROUP, leaving).members]


async def test_members_are_removed_by_a_batch_for_each_hundred() -> None:
    world = await world_of(COUNT)
    before = batch_count(world)
    errors = leave(world, *(f"member-{number}" for number in range(COUNT - 1)))
    assert set(errors) == {ErrorCode.NONE}
    await world.coordinator.settled()
    assert batch_count(world) - before == 3
    assert set(world.group.members) == {f"member-{COUNT - 1}"}
    after = await ConsumerWorld.loaded(world.topics, log=world.log)
    assert stored_state(after.group) == stored_state(world.group)


async def test_member_that_is_named_twice_leaves_twice_as_in_kafka() -> None:
    world = await world_of(2)
    errors = [ErrorCode.NONE, ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]
    assert leave(world, "member-0", "member-0", "stranger") == errors
    assert set(world.group.members) == {"member-1"}


async def test_members_whose_records_do_not_fit_into_one_batch_are_removed_by_more() -> None:
    world = await world_of(4)
    before = batch_count(world)
    world.log.max_message_bytes = 500
    assert set(leave(world, *(f"member-{number}" for number in range(4)))) == {ErrorCode.NONE}
    await world.coordinator.settled()
    assert batch_count(world) - before == 2
    assert world.group.is_empty


async def test_request_is_refused_when_no_batch_fits() -> None:
    world = await world_of(2)
    world.log.max_message_bytes = 100
    leaving = [LeavingMember(f"member-{number}") for number in range(2)]
    assert world.coordinator.membership.leave(GROUP, leaving).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert len(world.group.members) == 2


@pytest.mark.parametrize("names", [("c", "a"), ("a", "c")])
async def test_group_becomes_classic_without_the_members_that_leave_with_its_last_consumer(
    names: tuple[str, str],
) -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("c", 0, names=("t",))
    clients = {name: ClassicClient(world, name, "t") for name in ("a", "b")}
    for client in clients.values():
        await client.join()
    member_ids = [clients[name].member_id if name in clients else name for name in names]
    assert leave(world, *member_ids) == [ErrorCode.NONE, ErrorCode.NONE]
    group = world.coordinator.registry.get(GROUP)
    assert group is not None
    assert (group.kind, group.member_count) == ("classic", 1)
    assert clients["b"].beat() is ErrorCode.REBALANCE_IN_PROGRESS


def test_epoch_rises_once_for_all_members_that_are_removed_together() -> None:
    group = CoordinatedGroup(Topics(t=3))
    for name in ("a", "b", "c"):
        group.beat(name, 0, names=("t",))
    epoch = group.group.epoch
    group.fence("a", "b", "c")
    assert (group.group.epoch, group.group.target_epoch) == (epoch + 1, epoch + 1)
    assert group.group.is_empty
