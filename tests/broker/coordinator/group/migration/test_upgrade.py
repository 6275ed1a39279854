"""A client of the consumer protocol makes a classic group with members a consumer group."""

from typing import Any

import pytest
from pybroker.broker.coordinator.group.consumer.consumer_group import ConsumerGroup
from pybroker.broker.coordinator.group.group import Group
from pybroker.broker.coordinator.group.migration import upgrades
from pybroker.broker.coordinator.group.migration.policy import MigrationPolicy
from pybroker.broker.coordinator.group.modern.assignment import pairs
from pybroker.protocol.errors import ErrorCode
from support.clients.group_clients import SESSION_MS
from support.in_process.classic_client import ClassicClient, assignment, share
from support.in_process.consumer_groups import GROUP, SETTINGS, Topics, stored_state
from support.in_process.consumer_world import ConsumerWorld

PARTITIONS = [("t", number) for number in range(4)]


async def world_of(policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL, max_size: int = 100) -> ConsumerWorld:
    settings = SETTINGS._replace(migration=policy, max_size=max_size)
    return await ConsumerWorld.loaded(Topics(t=4), consumer_settings=settings)


async def classic_pair(world: ConsumerWorld, *, keeps: bool = True) -> list[ClassicClient]:
    clients = [ClassicClient(world, name, "t", keeps=keeps) for name in ("a", "b")]
    await share(world, clients, PARTITIONS)
    return clients


def owners(world: ConsumerWorld) -> dict[int, str]:
    return {number: member for (_, number), member in world.group.owners.items()}


async def test_members_keep_ids_partitions_and_the_generation_as_epoch() -> None:
    world = await world_of()
    first, second = await classic_pair(world)
    generation_id = first.generation_id
    answer = await world.beat("c", 0, names=("t",))
    assert answer.error is ErrorCode.NONE
    assert answer.member_epoch == generation_id + 1
    assert not answer.assignment  # the others have all partitions
    assert {0: first.member_id, 1: second.member_id} == {number: owners(world)[number] for number in (0, 1)}
    assert world.group.members[first.member_id].epoch == generation_id


@pytest.mark.parametrize("keeps", [True, False])
async def test_members_of_both_protocols_share_all_partitions_after_they_joined_again(*, keeps: bool) -> None:
    world = await world_of()
    clients = await classic_pair(world, keeps=keeps)
    answer = await world.beat("c", 0, names=("t",))
    for _ in range(3):
        for client in clients:
            await client.follow()
        later = await world.beat("c", answer.member_epoch)
        answer = answer if later.assignment is None else later
    assert answer.assignment is not None
    of_consumer = {("t", number) for _, number in pairs(answer.assignment)}
    parts = [of_consumer, *(client.owned for client in clients)]
    assert sorted(partition for part in parts for partition in part) == PARTITIONS
    assert all(parts)
    assert world.group.state_name == "Stable"
    assert [client.beat() for client in clients] == [ErrorCode.NONE, ErrorCode.NONE]


async def test_new_coordinator_reads_the_converted_group_as_it_was() -> None:
    world = await world_of()
    await classic_pair(world)
    await world.beat("c", 0, names=("t",))
    after = await ConsumerWorld.loaded(world.topics, log=world.log)
    assert stored_state(after.group) == stored_state(world.group)
    assert after.group.classic.count == 2


async def test_partitions_that_a_member_may_not_have_given_back_yet_go_to_nobody() -> None:
    world = await world_of()
    client = ClassicClient(world, "a", "t")
    await share(world, [client], PARTITIONS)
    client.topics = ("t", "u")
    client.send_join()
    await client.joined()  # it has all partitions
    assert await client.sync({client.member_id: assignment(PARTITIONS[:2])}) is ErrorCode.NONE
    client.owned = set(PARTITIONS)  # and is about to give the others back
    answer = await world.beat("c", 0, names=("t",))
    assert answer.assignment == {}
    client.owned = set(PARTITIONS[:2])
    await client.follow()
    assigned = (await world.beat("c", answer.member_epoch)).assignment
    assert assigned is not None
    assert {number for _, number in pairs(assigned)} == {2, 3}


async def test_partitions_that_the_leader_held_back_are_assigned_also_when_a_consumer_without_topics_joins() -> None:
    world = await world_of()
    client = ClassicClient(world, "a", "t")
    await share(world, [client], PARTITIONS[:2])
    await world.beat("c", 0)
    await client.follow()
    assert client.owned == set(PARTITIONS)


async def test_requests_that_wait_in_the_classic_group_are_told_to_join_again() -> None:
    world = await world_of()
    first, second = await classic_pair(world)
    first.topics = ("t", "u")
    call = first.send_join()
    assert not call.is_answered
    await world.beat("c", 0, names=("t",))
    assert call.result.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert call.result.member_id == first.member_id
    assert second.beat() is ErrorCode.REBALANCE_IN_PROGRESS


async def test_group_in_its_first_rebalance_is_converted() -> None:
    world = await world_of()
    client = ClassicClient(world, "a", "t")
    client.send_join()
    await client.joined()  # it has joined, and not synced
    answer = await world.beat("c", 0, names=("t",))
    assert answer.error is ErrorCode.NONE
    assert client.beat() is ErrorCode.REBALANCE_IN_PROGRESS
    await client.follow()
    assert client.owned


async def test_group_of_a_coordinator_that_has_just_moved_does_not_become_a_consumer_group() -> None:
    world = await world_of()
    await classic_pair(world)
    world.log.led = set()
    assert (await world.beat("c", 0, names=("t",))).error is ErrorCode.NOT_COORDINATOR
    assert world.coordinator.registry.get(GROUP) is None
    assert world.time.armed_count == 0


async def test_sessions_of_members_are_those_of_the_classic_protocol() -> None:
    world = await world_of()
    first, second = await classic_pair(world)
    await world.beat("c", 0, names=("t",))
    world.time.advance(SESSION_MS - 1)
    first.beat()
    world.time.advance(1)
    assert set(world.group.members) == {first.member_id, "c"}
    assert second.beat() is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("policy", [MigrationPolicy.DISABLED, MigrationPolicy.DOWNGRADE])
async def test_policy_without_upgrades_refuses_the_client_and_leaves_the_group(policy: MigrationPolicy) -> None:
    world = await world_of(policy)
    first, _ = await classic_pair(world)
    answer = await world.beat("c", 0, names=("t",))
    assert answer.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert answer.message is not None
    assert "online upgrade is disabled" in answer.message
    assert isinstance(world.coordinator.registry.get(GROUP), Group)
    assert first.beat() is ErrorCode.NONE


async def test_group_with_more_members_than_consumer_groups_may_have_is_not_converted() -> None:
    world = await world_of(max_size=1)
    await classic_pair(world)
    assert (await world.beat("c", 0, names=("t",))).error is ErrorCode.GROUP_ID_NOT_FOUND


async def test_group_whose_assignments_take_too_long_to_read_is_not_converted() -> None:
    world = await world_of()
    client = ClassicClient(world, "a", "t")
    client.send_join()
    await client.joined()
    group = world.coordinator.registry.get(GROUP)
    assert isinstance(group, Group)
    group.assign(group.members[client.member_id], bytes(1 << 20))
    answer = await world.beat("c", 0, names=("t",))
    assert answer.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert "too large" in (answer.message or "")


async def test_newcomer_for_whom_the_group_has_no_place_leaves_it_classic() -> None:
    world = await world_of(max_size=2)
    first, _ = await classic_pair(world)
    assert (await world.beat("c", 0, names=("t",))).error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert isinstance(world.coordinator.registry.get(GROUP), Group)
    assert first.beat() is ErrorCode.NONE


@pytest.mark.parametrize(
    ("max_size", "fields", "error"),
    [
        (2, {"names": ("t",)}, ErrorCode.GROUP_MAX_SIZE_REACHED),
        (100, {"pattern": "("}, ErrorCode.INVALID_REGULAR_EXPRESSION),
    ],
)
async def test_client_that_is_refused_anyway_does_not_make_the_broker_convert_the_group(
    monkeypatch: pytest.MonkeyPatch, max_size: int, fields: dict[str, Any], error: ErrorCode
) -> None:
    world = await world_of(max_size=max_size)
    first, _ = await classic_pair(world)
    converted: list[Group] = []

    def draft_steps(group: Group, _topics: object, _batch: object) -> None:
        converted.append(group)

    monkeypatch.setattr(upgrades, "draft_steps", draft_steps)
    assert (await world.beat("c", 0, **fields)).error is error
    assert converted == []
    assert first.beat() is ErrorCode.NONE


@pytest.mark.parametrize(
    ("blob", "reason"),
    [(b"\0", "malformed"), (b"\xff\xff\0\0", "malformed"), (assignment([("t", 0)], b"x"), "custom assignor")],
)
async def test_group_with_assignments_that_the_broker_cannot_take_over_stays_classic(blob: bytes, reason: str) -> None:
    world = await world_of()
    client = ClassicClient(world, "a", "t")
    client.send_join()
    await client.joined()
    group = world.coordinator.registry.get(GROUP)
    assert isinstance(group, Group)
    group.assign(group.members[client.member_id], blob)
    answer = await world.beat("c", 0, names=("t",))
    assert answer.error is ErrorCode.GROUP_ID_NOT_FOUND
    assert reason in (answer.message or "")
    assert world.coordinator.registry.get(GROUP) is group


async def test_classic_group_stays_when_the_records_are_too_large() -> None:
    world = await world_of()
    first, _ = await classic_pair(world)
    world.log.max_message_bytes = 300
    assert (await world.beat("c", 0, names=("t",))).error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert isinstance(world.coordinator.registry.get(GROUP), Group)
    assert first.beat() is ErrorCode.NONE


async def test_memory_of_the_classic_group_is_given_back() -> None:
    world = await world_of()
    before = world.coordinator.registry.memory.used_bytes
    clients = await classic_pair(world)
    await world.beat("c", 0, names=("t",))
    assert isinstance(world.coordinator.registry.get(GROUP), ConsumerGroup)
    for client in clients:
        client.leave()
    await world.beat("c", -1)
    world.coordinator.administration.delete_group(GROUP)
    assert world.coordinator.registry.memory.used_bytes == before
    assert world.time.armed_count == 0
