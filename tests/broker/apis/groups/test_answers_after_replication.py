"""Requests that delete groups, offsets or members of groups of KIP-848 are answered when the records are replicated."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.groups.delete_groups import DeleteGroups
from pybroker.broker.apis.groups.leave_group import LeaveGroup
from pybroker.broker.apis.groups.offset_delete import OffsetDelete
from pybroker.broker.coordinator.group.commit_request import CommitRequest
from pybroker.broker.coordinator.group.offsets import OffsetAndMetadata
from pybroker.protocol.errors import ErrorCode, NotEnoughReplicasError
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from pybroker.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from support.clients.group_clients import CommitCall
from support.in_process.consumer_groups import GROUP, Topics
from support.in_process.consumer_world import ConsumerWorld
from support.in_process.group_handlers import call

T0 = TopicPartition("t", 0)
_TURNS = 5
"""More turns of the event loop than a write takes that waits for nothing."""

Ask = Callable[[ConsumerWorld], "asyncio.Task[Any]"]


async def world_with_an_offset(*members: str) -> ConsumerWorld:
    """A consumer group that committed an offset of t-0 and has these members now."""
    world = await ConsumerWorld.loaded(Topics(t=3))
    offsets = {T0: OffsetAndMetadata(7, -1, "", 0)}
    world.coordinator.commits.commit(CommitRequest(GROUP, offsets), CommitCall())
    for member_id in members or ("a",):
        await world.beat(member_id, 0, names=("t",))
    if not members:
        await world.beat("a", -1)
    return world


def delete_group(world: ConsumerWorld) -> "asyncio.Task[Any]":
    handler = DeleteGroups(world.coordinator.administration)
    return asyncio.ensure_future(call(handler, 2, DeleteGroupsRequest(groups_names=[GROUP, "unknown"])))


def delete_offset(world: ConsumerWorld) -> "asyncio.Task[Any]":
    topic = OffsetDeleteRequestTopic(name="t", partitions=[OffsetDeleteRequestPartition(partition_index=0)])
    handler = OffsetDelete(world.coordinator.administration, lambda name, partition: True)
    return asyncio.ensure_future(call(handler, 0, OffsetDeleteRequest(group_id=GROUP, topics=[topic])))


def leave(world: ConsumerWorld, *others: str) -> "asyncio.Task[Any]":
    members = [MemberIdentity(member_id=each) for each in ("a", *others)]
    request = LeaveGroupRequest(group_id=GROUP, members=members)
    return asyncio.ensure_future(call(LeaveGroup(world.coordinator.membership), 5, request))


def codes(response: Any) -> list[ErrorCode]:
    if hasattr(response, "results"):
        return [ErrorCode(each.error_code) for each in response.results]
    parts = response.members if hasattr(response, "members") else response.topics
    own = [ErrorCode.NONE for _ in parts]
    return own if response.error_code == 0 else [ErrorCode(response.error_code)]


@pytest.mark.parametrize(
    ("members", "ask", "expected"),
    [
        ((), delete_group, [ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND]),
        ((), delete_offset, [ErrorCode.NONE]),
        (("a", "b"), leave, [ErrorCode.NONE]),
        (("a",), leave, [ErrorCode.NONE]),
    ],
)
async def test_response_comes_when_the_replicas_have_the_records(
    members: tuple[str, ...], ask: Ask, expected: list[ErrorCode]
) -> None:
    world = await world_with_an_offset(*members)
    world.log.replicas.clear()
    asked = ask(world)
    for _ in range(_TURNS):
        await asyncio.sleep(0)
    assert not asked.done()
    world.log.replicas.set()
    assert codes(await asked) == expected


@pytest.mark.parametrize("refuses_at_once", [False, True])
@pytest.mark.parametrize(
    ("members", "ask", "expected"),
    [
        ((), delete_group, [ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.GROUP_ID_NOT_FOUND]),
        ((), delete_offset, [ErrorCode.COORDINATOR_NOT_AVAILABLE]),
        (("a", "b"), leave, [ErrorCode.COORDINATOR_NOT_AVAILABLE]),
        (("a",), leave, [ErrorCode.COORDINATOR_NOT_AVAILABLE]),
    ],
)
async def test_nothing_is_lost_when_the_records_are_not_written(
    members: tuple[str, ...], ask: Ask, expected: list[ErrorCode], refuses_at_once: bool
) -> None:
    world = await world_with_an_offset(*members)
    world.log.append_error = NotEnoughReplicasError()
    world.log.refuses_at_once = refuses_at_once
    assert codes(await ask(world)) == expected
    world.log.append_error = None
    await world.load_again()
    assert set(world.group.members) == set(members)
    _, offsets = world.coordinator.commits.fetch(GROUP, [T0], require_stable=False)
    assert offsets[T0].offset == 7


async def test_none_of_several_members_has_left_when_the_first_removal_is_refused() -> None:
    world = await world_with_an_offset("a", "b")
    world.log.append_error = NotEnoughReplicasError()
    world.log.refuses_at_once = True
    response = await leave(world, "b")
    assert (response.error_code, response.members) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, [])
    await world.load_again()
    assert set(world.group.members) == {"a", "b"}


async def test_deletion_of_a_classic_group_is_answered_at_once() -> None:
    world = await ConsumerWorld.loaded(Topics(t=3))
    world.coordinator.commits.commit(CommitRequest(GROUP, {T0: OffsetAndMetadata(7, -1, "", 0)}), CommitCall())
    await world.coordinator.settled()
    world.log.replicas.clear()
    assert codes(await delete_group(world)) == [ErrorCode.NONE, ErrorCode.GROUP_ID_NOT_FOUND]
