"""When the last member of the consumer protocol goes, a consumer group becomes a classic one."""

import pytest
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.migration.policy import MigrationPolicy
from pybroker.broker.coordinator.group.results import LeavingMember
from pybroker.broker.coordinator.group.settings import GroupSettings
from pybroker.broker.coordinator.group.states import GroupState
from pybroker.protocol.errors import ErrorCode, NotEnoughReplicasError
from support.clients.group_clients import SESSION_MS
from support.in_process.classic_client import ClassicClient, assignment, share
from support.in_process.consumer_groups import GROUP, SETTINGS, Topics
from support.in_process.consumer_world import ConsumerWorld

PARTITIONS = [("t", number) for number in range(4)]


async def mixed_world(
    policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL, max_size: int = 100, *, instance_id: str | None = None
) -> tuple[ConsumerWorld, list[ClassicClient]]:
    """A stable group of a consumer c and two classic members."""
    settings = GroupSettings(initial_rebalance_delay_ms=0, max_size=max_size)
    world = await ConsumerWorld.loaded(
        Topics(t=4, u=1), settings, consumer_settings=SETTINGS._replace(migration=policy)
    )
    await world.beat("c", 0, names=("t",), instance_id=instance_id)
    clients = [ClassicClient(world, name, "t") for name in ("a", "b")]
    for client in clients:
        await client.join()
    await settle(world, clients)
    assert world.group.state_name == "Stable"
    return world, clients


async def settle(world: ConsumerWorld, clients: list[ClassicClient]) -> None:
    for _ in range(3):
        current = world.group.members["c"]
        answer = await world.beat("c", current.epoch)
        await world.beat("c", answer.member_epoch, owned=world.group.members["c"].current.assigned)
        for client in clients:
            await client.follow()


def classic_group(world: ConsumerWorld) -> Group:
    group = world.coordinator.registry.get(GROUP)
    assert isinstance(group, Group)
    return group


@pytest.mark.parametrize("way", ["leave", "session", "administrator"])
async def test_group_becomes_classic_when_its_last_consumer_goes(way: str) -> None:
    world, clients = await mixed_world()
    epoch = world.group.epoch
    match way:
        case "leave":
            assert (await world.beat("c", -1)).error is ErrorCode.NONE
        case "session":
            for _ in range(SETTINGS.session_timeout_ms // SESSION_MS + 1):
                for client in clients:
                    client.beat()
                world.time.advance(SESSION_MS - 1)
        case "administrator":
            assert world.coordinator.membership.leave(GROUP, [LeavingMember("c")]).members[0].error is ErrorCode.NONE
    group = classic_group(world)
    assert set(group.members) == {client.member_id for client in clients}
    assert (group.state, group.generation_id) == (GroupState.PREPARING_REBALANCE, epoch)
    assert {client.beat() for client in clients} == {ErrorCode.REBALANCE_IN_PROGRESS}


async def test_members_of_the_new_classic_group_share_its_partitions() -> None:
    world, clients = await mixed_world()
    await world.beat("c", -1)
    await share(world, clients, PARTITIONS)
    assert sorted(partition for client in clients for partition in client.owned) == PARTITIONS
    assert classic_group(world).state is GroupState.STABLE
    assert [client.beat() for client in clients] == [ErrorCode.NONE, ErrorCode.NONE]


async def test_new_coordinator_reads_the_classic_group_and_nothing_of_the_consumer_group() -> None:
    world, clients = await mixed_world()
    await world.beat("c", -1)
    after = await ConsumerWorld.loaded(world.topics, log=world.log)
    group = classic_group(after)
    assert set(group.members) == {client.member_id for client in clients}
    assert group.state is GroupState.STABLE
    assert group.generation_id == classic_group(world).generation_id
    shares = [client.owned for client in clients]
    for client in clients:  # a stable group gives each member its part again
        client.world = after
        assert await client.sync() is ErrorCode.NONE
    assert [client.owned for client in clients] == shares


@pytest.mark.parametrize(("policy", "max_size"), [(MigrationPolicy.UPGRADE, 100), (MigrationPolicy.BIDIRECTIONAL, 1)])
async def test_group_that_may_not_become_classic_stays_a_consumer_group(policy: MigrationPolicy, max_size: int) -> None:
    world, clients = await mixed_world(policy, max_size)
    await world.beat("c", -1)
    assert set(world.group.members) == {client.member_id for client in clients}
    for _ in range(3):
        for client in clients:
            await client.follow()
    assert sorted(partition for client in clients for partition in client.owned) == PARTITIONS


async def test_group_stays_a_consumer_group_while_it_has_a_consumer() -> None:
    world, clients = await mixed_world()
    for client in clients:
        client.leave()
    assert set(world.group.members) == {"c"}
    await world.beat("c", -1)
    assert world.group.is_empty


async def test_static_consumer_that_returns_by_the_classic_protocol_makes_the_group_classic() -> None:
    world, _ = await mixed_world(instance_id="i")
    assigned = {number for own in world.group.members["c"].current.assigned.values() for number in own}
    client = ClassicClient(world, "c", "t", instance_id="i")
    client.send_join()
    result = await client.joined()
    group = classic_group(world)
    assert group.state is GroupState.STABLE
    assert (result.error, result.generation_id) == (ErrorCode.NONE, group.generation_id)
    assert await client.sync() is ErrorCode.NONE
    assert client.owned == {("t", number) for number in assigned}
    assert (await world.beat("c", 1, instance_id="i")).error is ErrorCode.GROUP_ID_NOT_FOUND


async def test_classic_group_that_nobody_leads_rebalances_at_the_next_heartbeat() -> None:
    world = await ConsumerWorld.loaded(Topics(t=4))
    await world.beat("c", 0, names=("t",), instance_id="i")
    client = ClassicClient(world, "c", "t", instance_id="i")
    await client.join()
    after = await ConsumerWorld.loaded(world.topics, log=world.log)
    for each in (after, world):  # the log says so, too
        client.world = each
        assert client.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    client.send_join()
    result = await client.joined()
    assert result.leader_id == client.member_id
    assert await client.sync({client.member_id: assignment(PARTITIONS)}) is ErrorCode.NONE
    assert client.beat() is ErrorCode.NONE


async def test_static_consumer_that_returns_with_another_subscription_makes_the_classic_group_rebalance() -> None:
    world, clients = await mixed_world(instance_id="i")
    client = ClassicClient(world, "c", "t", "u", instance_id="i")
    call = client.send_join()
    assert classic_group(world).state is GroupState.PREPARING_REBALANCE
    for other in clients:
        other.send_join()
    await world.coordinator.settled()
    assert call.result.error is ErrorCode.NONE
    assert {other.joining.result.error for other in clients if other.joining} == {ErrorCode.NONE}


async def test_static_consumer_alone_becomes_a_classic_group_of_one() -> None:
    world = await ConsumerWorld.loaded(Topics(t=4))
    await world.beat("c", 0, names=("t",), instance_id="i")
    client = ClassicClient(world, "c", "t", instance_id="i")
    await client.join()
    assert client.owned == set(PARTITIONS)
    assert set(classic_group(world).members) == {client.member_id}


async def test_partition_is_loaded_anew_when_the_classic_group_is_not_written() -> None:
    world, clients = await mixed_world()
    world.log.append_error = NotEnoughReplicasError()
    assert (await world.beat("c", -1)).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.append_error = None
    await world.load_again()
    assert set(world.group.members) == {"c", *(client.member_id for client in clients)}


@pytest.mark.parametrize("way", ["leave", "return", "return with another subscription"])
async def test_group_of_a_coordinator_that_has_just_moved_does_not_become_classic(way: str) -> None:
    world, _ = await mixed_world(instance_id="i")
    world.log.led = set()
    if way == "leave":
        assert (await world.beat("c", -1, instance_id="i")).error is ErrorCode.NOT_COORDINATOR
    else:
        client = ClassicClient(world, "c", "t" if way == "return" else "u", instance_id="i")
        client.send_join()
        assert (await client.joined()).error is ErrorCode.NOT_COORDINATOR
    assert world.coordinator.registry.get(GROUP) is None
    assert world.time.armed_count == 0


async def test_stopped_coordinator_of_a_mixed_group_has_no_timers() -> None:
    world, _ = await mixed_world()
    await world.coordinator.close()
    assert world.time.armed_count == 0


async def test_classic_group_of_a_stopped_consumer_group_becomes_a_consumer_group_again() -> None:
    world, clients = await mixed_world()
    await world.beat("c", -1)
    await share(world, clients, PARTITIONS)
    generation_id = classic_group(world).generation_id
    answer = await world.beat("d", 0, names=("t",))
    assert answer.member_epoch == generation_id + 1


async def test_classic_group_knows_which_member_has_a_partition_that_another_member_was_to_get() -> None:
    world = await ConsumerWorld.loaded(Topics(t=4))
    await world.beat("c", 0)
    first, second = (ClassicClient(world, name, "t") for name in ("a", "b"))
    await first.join()
    await second.join()
    assert (first.owned, second.owned) == (set(PARTITIONS), set())
    await world.beat("c", -1)
    answer = await world.beat("d", 0, names=("t",))
    assert set(world.group.owners.values()) == {first.member_id}
    assert answer.assignment == {}
    await second.join()
    assert second.owned == set()
    await first.join()
    await first.join()  # it has given back what it shall not keep
    await second.join()
    assert second.owned.isdisjoint(first.owned)
    assert second.owned
