"""The APIs of share groups in every version that is served, and the rights that they need."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any
from unittest.mock import patch

import pytest
from pybroker.base.acls import AclOperation, AclResourceType
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.groups.alter_share_group_offsets import AlterShareGroupOffsets
from pybroker.broker.apis.groups.delete_groups import DeleteGroups
from pybroker.broker.apis.groups.delete_share_group_offsets import DeleteShareGroupOffsets
from pybroker.broker.apis.groups.describe_share_group_offsets import DescribeShareGroupOffsets
from pybroker.broker.apis.groups.share_group_describe import ShareGroupDescribe
from pybroker.broker.apis.groups.share_group_heartbeat import ShareGroupHeartbeat
from pybroker.broker.coordinator.share.ports import EndOffset, SharePartitionKey
from pybroker.protocol.codec import NULL_UUID, Message
from pybroker.protocol.errors import ErrorCode, GroupAuthorizationError, InvalidRequestError, TopicAuthorizationError
from pybroker.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
)
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
)
from pybroker.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsRequestTopic,
)
from pybroker.protocol.messages.share_group_describe import ShareGroupDescribeRequest
from pybroker.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from support.in_process.authorized_broker import RecordingAuthorizer
from support.in_process.consumer_groups import Topics
from support.in_process.group_handlers import call
from support.in_process.rights_table import Ask
from support.share_groups.coordinator import ShareGroupWorld, StatesInMemory

READ_GROUP = Ask(AclOperation.READ, AclResourceType.GROUP, "g", False)
DELETE_GROUP = Ask(AclOperation.DELETE, AclResourceType.GROUP, "g", False)
DESCRIBE_GROUP = Ask(AclOperation.DESCRIBE, AclResourceType.GROUP, "g", False)
DESCRIBE_TOPIC = Ask(AclOperation.DESCRIBE, AclResourceType.TOPIC, "t", False)
READ_TOPIC = Ask(AclOperation.READ, AclResourceType.TOPIC, "t", False)
END = 20


async def end_offsets(wanted: Iterable[TopicPartition]) -> dict[TopicPartition, EndOffset]:
    """Partition 2 has no leader."""
    return {each: END if each.partition < 2 else ErrorCode.LEADER_NOT_AVAILABLE for each in wanted}


async def ask(
    world: ShareGroupWorld, request: Message, version: int = 0, authorizer: RecordingAuthorizer | None = None
) -> Any:
    handlers: dict[type[Message], Callable[..., Any]] = {
        ShareGroupHeartbeatRequest: ShareGroupHeartbeat(world.shares),
        ShareGroupDescribeRequest: ShareGroupDescribe(world.shares),
        DescribeShareGroupOffsetsRequest: DescribeShareGroupOffsets(world.offsets, end_offsets),
        AlterShareGroupOffsetsRequest: AlterShareGroupOffsets(world.offsets),
        DeleteShareGroupOffsetsRequest: DeleteShareGroupOffsets(world.offsets),
        DeleteGroupsRequest: DeleteGroups(world.coordinator.administration, world.offsets),
    }
    answer: Awaitable[Any] = asyncio.ensure_future(
        call(handlers[type(request)], version, request, authorizer=authorizer)
    )
    for _ in range(3):
        await asyncio.sleep(0)
        await world.settled()
    return await answer


def joining(member: str = "a", *names: str, epoch: int = 0, group_id: str = "g") -> ShareGroupHeartbeatRequest:
    topics = list(names) or (["t"] if epoch == 0 else None)
    return ShareGroupHeartbeatRequest(
        group_id=group_id, member_id=member, member_epoch=epoch, subscribed_topic_names=topics
    )


async def world_with_member() -> ShareGroupWorld:
    world = await ShareGroupWorld.loaded(Topics(t=2))
    for epoch in (0, 1):
        await ask(world, joining(epoch=epoch), 1)
    return world


async def empty_world() -> ShareGroupWorld:
    world = await world_with_member()
    await ask(world, joining(epoch=-1), 1)
    return world


async def test_heartbeat_tells_epoch_interval_and_assignment() -> None:
    world = await world_with_member()
    response = await ask(world, joining(), 1)
    assert (response.error_code, response.member_id, response.member_epoch) == (0, "a", 2)
    assert response.heartbeat_interval_ms == 5_000
    (topic,) = response.assignment.topic_partitions
    assert (topic.topic_id, topic.partitions) == (world.topics.topic_id("t"), [0, 1])
    assert (await ask(world, joining(epoch=2), 1)).assignment is None


async def test_refused_heartbeat_tells_the_reason() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2))
    response = await ask(world, joining(epoch=3), 1)
    assert (response.error_code, response.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group g not found.")


async def test_member_id_that_is_longer_than_a_uuid_is_invalid() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2))
    with pytest.raises(InvalidRequestError):
        await ask(world, joining("a" * 37), 1)


async def test_heartbeat_needs_rights_for_the_group_and_its_topics() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2))
    allowing = RecordingAuthorizer(set())
    await ask(world, joining(), 1, allowing)
    assert allowing.asked == [READ_GROUP, DESCRIBE_TOPIC]
    with pytest.raises(GroupAuthorizationError):
        await ask(world, joining(), 1, RecordingAuthorizer({READ_GROUP}))
    with pytest.raises(TopicAuthorizationError):
        await ask(world, joining(), 1, RecordingAuthorizer({DESCRIBE_TOPIC}))


async def test_describe_shows_members_with_their_partitions() -> None:
    world = await world_with_member()
    group, unknown = (await ask(world, ShareGroupDescribeRequest(group_ids=["g", "no"]), 1)).groups
    assert (group.group_state, group.group_epoch, group.assignment_epoch, group.assignor_name) == (
        "Stable",
        2,
        2,
        "simple",
    )
    (member,) = group.members
    assert (member.member_id, member.member_epoch, member.client_id) == ("a", 2, "c")
    assert member.subscribed_topic_names == ["t"]
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_name, topic.partitions) == ("t", [0, 1])
    assert (unknown.error_code, unknown.error_message) == (ErrorCode.GROUP_ID_NOT_FOUND, "Group no not found.")


@pytest.mark.parametrize(
    ("denied", "error"),
    [
        (DESCRIBE_GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
        (DESCRIBE_TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ],
)
async def test_describe_needs_rights_for_the_group_and_its_topics(denied: Ask, error: ErrorCode) -> None:
    world = await world_with_member()
    request = ShareGroupDescribeRequest(group_ids=["g"])
    (group,) = (await ask(world, request, 1, RecordingAuthorizer({denied}))).groups
    assert (group.error_code, group.members) == (error, [])


def altering(partition: int = 1, offset: int = 7) -> AlterShareGroupOffsetsRequest:
    partitions = [AlterShareGroupOffsetsRequestPartition(partition_index=partition, start_offset=offset)]
    topic = AlterShareGroupOffsetsRequestTopic(topic_name="t", partitions=partitions)
    return AlterShareGroupOffsetsRequest(group_id="g", topics=[topic])


async def test_altered_offsets_are_described() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2))
    (topic,) = (await ask(world, altering())).responses
    assert (topic.topic_name, topic.topic_id) == ("t", world.topics.topic_id("t"))
    assert [(each.partition_index, each.error_code) for each in topic.partitions] == [(1, 0)]
    wanted = DescribeShareGroupOffsetsRequest(groups=[DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)])
    (group,) = (await ask(world, wanted, 1)).groups
    (topic,) = group.topics
    assert [(each.partition_index, each.start_offset) for each in topic.partitions] == [(1, 7)]


async def test_lag_is_the_distance_from_the_end_without_what_is_done() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=2))
    world.states.complete_count = 3
    await ask(world, altering())
    named = DescribeShareGroupOffsetsRequestTopic(topic_name="t", partitions=[1, 0])
    group = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=[named])
    (group,) = (await ask(world, DescribeShareGroupOffsetsRequest(groups=[group]), 1)).groups
    (topic,) = group.topics
    lags = {each.partition_index: (each.start_offset, each.lag) for each in topic.partitions}
    assert lags == {1: (7, END - 7 - 3), 0: (-1, -1)}


async def test_partition_whose_end_is_not_known_has_the_error_of_its_leader() -> None:
    world = await ShareGroupWorld.loaded(Topics(t=3))
    world.states.complete_count = 3
    await ask(world, altering(2))
    named = DescribeShareGroupOffsetsRequestTopic(topic_name="t", partitions=[2, 0])
    group = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=[named])
    (group,) = (await ask(world, DescribeShareGroupOffsetsRequest(groups=[group]), 1)).groups
    (topic,) = group.topics
    told = {each.partition_index: (each.error_code, each.start_offset, each.lag) for each in topic.partitions}
    assert told == {2: (ErrorCode.LEADER_NOT_AVAILABLE, 0, -1), 0: (ErrorCode.NONE, -1, -1)}


async def test_offsets_of_topics_that_the_client_may_not_see_are_refused() -> None:
    world = await empty_world()
    named = DescribeShareGroupOffsetsRequestTopic(topic_name="t", partitions=[1])
    group = DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=[named])
    denying = RecordingAuthorizer({DESCRIBE_TOPIC, READ_TOPIC})
    (group,) = (await ask(world, DescribeShareGroupOffsetsRequest(groups=[group]), 1, denying)).groups
    (topic,) = group.topics
    assert [each.error_code for each in topic.partitions] == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    (topic,) = (await ask(world, altering(), 0, denying)).responses
    assert [each.error_code for each in topic.partitions] == [ErrorCode.TOPIC_AUTHORIZATION_FAILED]
    request = DeleteShareGroupOffsetsRequest(group_id="g", topics=[DeleteShareGroupOffsetsRequestTopic(topic_name="t")])
    (topic,) = (await ask(world, request, 0, denying)).responses
    assert (topic.topic_id, topic.error_code) == (NULL_UUID, ErrorCode.TOPIC_AUTHORIZATION_FAILED)


async def test_offset_requests_need_rights_for_the_group() -> None:
    world = await empty_world()
    wanted = DescribeShareGroupOffsetsRequest(groups=[DescribeShareGroupOffsetsRequestGroup(group_id="g", topics=None)])
    (group,) = (await ask(world, wanted, 1, RecordingAuthorizer({DESCRIBE_GROUP}))).groups
    assert group.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    with pytest.raises(GroupAuthorizationError):
        await ask(world, altering(), 0, RecordingAuthorizer({READ_GROUP}))
    with pytest.raises(GroupAuthorizationError):
        await ask(world, DeleteShareGroupOffsetsRequest(group_id="g"), 0, RecordingAuthorizer({DELETE_GROUP}))


async def test_deleted_offsets_are_gone() -> None:
    world = await empty_world()
    request = DeleteShareGroupOffsetsRequest(
        group_id="g", topics=[DeleteShareGroupOffsetsRequestTopic(topic_name=name) for name in ("t", "no")]
    )
    first, second = (await ask(world, request)).responses
    assert (first.topic_name, first.topic_id, first.error_code) == ("t", world.topics.topic_id("t"), 0)
    assert (second.topic_name, second.error_code) == ("no", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert world.states.stored == {}


async def test_delete_groups_deletes_the_states_of_a_share_group_first() -> None:
    world = await empty_world()
    world.coordinator.registry.get_or_create("classic", 0)
    request = DeleteGroupsRequest(groups_names=["g", "classic", "no"])
    world.states.error = ErrorCode.REQUEST_TIMED_OUT
    results = (await ask(world, request, 2)).results
    assert [(each.group_id, each.error_code) for each in results] == [
        ("g", ErrorCode.REQUEST_TIMED_OUT),
        ("classic", ErrorCode.NONE),
        ("no", ErrorCode.GROUP_ID_NOT_FOUND),
    ]
    world.states.error = ErrorCode.NONE
    (result,) = (await ask(world, DeleteGroupsRequest(groups_names=["g"]), 2)).results
    assert (result.error_code, world.states.stored) == (0, {})
    assert world.coordinator.registry.get("g") is None


async def test_share_group_is_deleted_with_its_last_state_so_that_none_can_be_altered_between() -> None:
    """The states of another group, which are deleted later, do not hold it up."""
    world = await empty_world()
    await ask(world, joining("a", "t", group_id="h"))
    await ask(world, joining("a", epoch=-1, group_id="h"))
    handler = DeleteGroups(world.coordinator.administration, world.offsets)
    kept: list[Callable[[], None]] = []

    def delete(key: SharePartitionKey, done: Callable[[ErrorCode], None]) -> None:
        kept.append(partial(StatesInMemory.delete, world.states, key, done))

    with patch.object(world.states, "delete", delete):
        answer = asyncio.ensure_future(call(handler, 2, DeleteGroupsRequest(groups_names=["g", "h"])))
        while len(kept) < 2:
            await asyncio.sleep(0)
            await world.settled()
        for finish in tuple(kept):
            finish()
        world.time.advance(0)
        assert world.coordinator.registry.get("g") is None
        assert world.coordinator.registry.get("h") is not None
    while not answer.done():
        await asyncio.sleep(0)
        await world.settled()
    assert [each.error_code for each in (await answer).results] == [ErrorCode.NONE, ErrorCode.NONE]
    assert world.states.stored == {}


async def test_share_group_with_members_is_not_deleted() -> None:
    world = await world_with_member()
    (result,) = (await ask(world, DeleteGroupsRequest(groups_names=["g"]), 2)).results
    assert result.error_code == ErrorCode.NON_EMPTY_GROUP
    (denied,) = (
        await ask(world, DeleteGroupsRequest(groups_names=["g"]), 2, RecordingAuthorizer({DELETE_GROUP}))
    ).results
    assert denied.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED
    assert len(world.states.stored) == 2
