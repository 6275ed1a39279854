"""Changes of groups of KIP-848 and share groups while the log would refuse them: nothing changes, nothing is loaded."""

from collections.abc import Awaitable, Callable

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.groups.delete_groups import DeleteGroups
from pybroker.broker.apis.groups.leave_group import LeaveGroup
from pybroker.broker.apis.groups.offset_delete import OffsetDelete
from pybroker.broker.coordinator.group.commit_request import CommitRequest
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pybroker.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from support.clients.group_clients import CommitCall
from support.in_process.classic_client import ClassicClient
from support.in_process.consumer_groups import GROUP, SETTINGS, Topics
from support.in_process.consumer_world import ConsumerWorld
from support.in_process.group_handlers import call

_PARTITION = TopicPartition("t", 0)

Change = Callable[[ConsumerWorld], Awaitable[ErrorCode]]


async def world_of(*members: str) -> ConsumerWorld:
    world = await ConsumerWorld.loaded(Topics(t=3))
    await world.beat("a", 0, names=("t",))
    world.coordinator.commits.commit(
        CommitRequest(GROUP, {_PARTITION: OffsetAndMetadata(7, -1, "", 0)}, member_id="a", generation_id=1),
        CommitCall(),
    )
    if not members:
        await world.beat("a", -1)
    return world


async def consumer_joins(world: ConsumerWorld) -> ErrorCode:
    return (await world.beat("b", 0, names=("t",))).error


async def consumer_leaves(world: ConsumerWorld) -> ErrorCode:
    return (await world.beat("a", -1)).error


async def classic_client_joins(world: ConsumerWorld) -> ErrorCode:
    return (await ClassicClient(world, "b", "t").join()).error


async def member_leaves(world: ConsumerWorld) -> ErrorCode:
    request = LeaveGroupRequest(group_id=GROUP, members=[MemberIdentity(member_id="a")])
    return ErrorCode((await call(LeaveGroup(world.coordinator.membership), 5, request)).error_code)


async def group_is_deleted(world: ConsumerWorld) -> ErrorCode:
    handler = DeleteGroups(world.coordinator.administration)
    (result,) = (await call(handler, 2, DeleteGroupsRequest(groups_names=[GROUP]))).results
    return ErrorCode(result.error_code)


async def offset_is_deleted(world: ConsumerWorld) -> ErrorCode:
    topic = OffsetDeleteRequestTopic(name="t", partitions=[OffsetDeleteRequestPartition(partition_index=0)])
    handler = OffsetDelete(world.coordinator.administration, lambda name, partition: True)
    return ErrorCode((await call(handler, 0, OffsetDeleteRequest(group_id=GROUP, topics=[topic]))).error_code)


@pytest.mark.parametrize(
    ("members", "change"),
    [
        (("a",), consumer_joins),
        (("a",), consumer_leaves),
        (("a",), classic_client_joins),
        (("a",), member_leaves),
        ((), group_is_deleted),
        ((), offset_is_deleted),
    ],
)
async def test_change_that_the_log_would_refuse_leaves_the_group_in_memory(
    members: tuple[str, ...], change: Change
) -> None:
    world = await world_of(*members)
    await world.coordinator.settled()
    group = world.group
    world.log.known_refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    assert await change(world) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert world.loads == []
    assert world.group is group
    assert tuple(group.members) == members
    _, offsets = world.coordinator.commits.fetch(GROUP, [_PARTITION], require_stable=False)
    assert offsets[_PARTITION].offset == 7
    world.log.known_refusal = ErrorCode.NONE
    assert await change(world) is ErrorCode.NONE


async def test_heartbeat_without_a_change_is_answered_while_the_log_would_refuse_changes() -> None:
    world = await world_of("a")
    world.log.known_refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    assert (await world.beat("a", 1)).error is ErrorCode.NONE


async def test_change_of_topics_is_seen_after_the_log_would_have_refused_it() -> None:
    world = await world_of("a")
    world.topics.create("t", 4)
    world.coordinator.consumers.topics_changed(["t"])
    world.log.known_refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    assert (await world.beat("a", 1)).error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.known_refusal = ErrorCode.NONE
    assert (await world.beat("a", 1)).member_epoch == 2


async def test_silent_consumer_stays_while_the_log_would_refuse_its_removal() -> None:
    world = await world_of("a")
    group = world.group
    world.log.known_refusal = ErrorCode.NOT_ENOUGH_REPLICAS
    world.time.advance(2 * SETTINGS.session_timeout_ms)
    assert (world.loads, world.group, set(group.members)) == ([], group, {"a"})
    world.log.known_refusal = ErrorCode.NONE
    world.time.advance(5_000)
    assert group.is_empty
