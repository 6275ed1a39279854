"""ConsumerGroupHeartbeat and ConsumerGroupDescribe in every version, and the rights that they need."""

import pytest
from pybroker.base.acls import AclOperation, AclResourceType
from pybroker.broker.apis.groups.consumer_group_describe import ConsumerGroupDescribe
from pybroker.broker.apis.groups.consumer_group_heartbeat import ConsumerGroupHeartbeat
from pybroker.broker.apis.groups.describe_groups import DescribeGroups
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import (
    ErrorCode,
    GroupAuthorizationError,
    KafkaError,
    TopicAuthorizationError,
)
from pybroker.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from pybroker.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from pybroker.protocol.messages.describe_groups import DescribeGroupsRequest
from support.in_process.authorized_broker import RecordingAuthorizer
from support.in_process.consumer_groups import Topics
from support.in_process.consumer_world import ConsumerWorld
from support.in_process.group_handlers import call, versions
from support.in_process.rights_table import Ask

READ_GROUP = Ask(AclOperation.READ, AclResourceType.GROUP, "g", False)
DESCRIBE_GROUP = Ask(AclOperation.DESCRIBE, AclResourceType.GROUP, "g", False)
DESCRIBE_TOPIC = Ask(AclOperation.DESCRIBE, AclResourceType.TOPIC, "t", False)
UNKNOWN_TYPE = -1
CONSUMER = 1


async def join(
    world: ConsumerWorld, version: int = 1, authorizer: RecordingAuthorizer | None = None
) -> ConsumerGroupHeartbeatResponse:
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="" if version == 0 else "a",
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    handler = ConsumerGroupHeartbeat(world.coordinator.consumers)
    response: ConsumerGroupHeartbeatResponse = await call(handler, version, request, authorizer=authorizer)
    return response


async def describe(
    world: ConsumerWorld, *group_ids: str, version: int = 1, authorizer: RecordingAuthorizer | None = None
) -> ConsumerGroupDescribeResponse:
    handler = ConsumerGroupDescribe(world.coordinator.consumers)
    request = ConsumerGroupDescribeRequest(group_ids=list(group_ids))
    response: ConsumerGroupDescribeResponse = await call(handler, version, request, authorizer=authorizer)
    return response


@pytest.mark.parametrize("version", versions(ApiKey.CONSUMER_GROUP_HEARTBEAT))
async def test_every_version_of_heartbeat_tells_epoch_interval_and_assignment(version: int) -> None:
    world = await ConsumerWorld.loaded(Topics(t=2))
    response = await join(world, version)
    assert (response.error_code, response.member_epoch, response.heartbeat_interval_ms) == (0, 1, 5_000)
    assert response.member_id == next(iter(world.group.members))
    assert response.assignment is not None
    (topic,) = response.assignment.topic_partitions
    assert (topic.topic_id, topic.partitions) == (world.topics.topic_id("t"), [0, 1])


async def test_refused_heartbeat_tells_the_reason() -> None:
    world = await ConsumerWorld.loaded(Topics(t=2))
    handler = ConsumerGroupHeartbeat(world.coordinator.consumers)
    response = await call(handler, 1, ConsumerGroupHeartbeatRequest(group_id="g", member_id="a", member_epoch=3))
    assert response.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert response.error_message == "Group g not found."


@pytest.mark.parametrize("version", versions(ApiKey.CONSUMER_GROUP_DESCRIBE))
async def test_every_version_of_describe_shows_the_members(version: int) -> None:
    world = await ConsumerWorld.loaded(Topics(t=2))
    await join(world)
    group, unknown = (await describe(world, "g", "unknown", version=version)).groups
    assert (group.error_code, group.group_state, group.group_epoch, group.assignment_epoch) == (0, "Stable", 1, 1)
    assert group.assignor_name == "uniform"
    (member,) = group.members
    assert (member.member_id, member.member_epoch, member.subscribed_topic_names) == ("a", 1, ["t"])
    assert member.assignment == member.target_assignment
    (topic,) = member.assignment.topic_partitions
    assert (topic.topic_name, topic.partitions) == ("t", [0, 1])
    assert member.member_type == (CONSUMER if version >= 1 else UNKNOWN_TYPE)
    assert unknown.error_code == ErrorCode.GROUP_ID_NOT_FOUND


@pytest.mark.parametrize(
    ("version", "code", "message"),
    [(5, ErrorCode.NONE, None), (6, ErrorCode.GROUP_ID_NOT_FOUND, "Group g is not a classic group.")],
)
async def test_describe_groups_says_that_a_consumer_group_is_no_classic_group(
    version: int, code: ErrorCode, message: str | None
) -> None:
    world = await ConsumerWorld.loaded(Topics(t=2))
    await join(world)
    handler = DescribeGroups(world.coordinator.administration)
    (group,) = (await call(handler, version, DescribeGroupsRequest(groups=["g"]))).groups
    assert (group.error_code, group.error_message, group.group_state) == (code, message, "Dead")


@pytest.mark.parametrize("denied", [(READ_GROUP, GroupAuthorizationError), (DESCRIBE_TOPIC, TopicAuthorizationError)])
async def test_heartbeat_needs_the_rights_to_the_group_and_to_each_named_topic(
    denied: tuple[Ask, type[KafkaError]],
) -> None:
    world = await ConsumerWorld.loaded(Topics(t=2))
    with pytest.raises(denied[1]):
        await join(world, authorizer=RecordingAuthorizer({denied[0]}))
    assert world.coordinator.registry.get("g") is None


@pytest.mark.parametrize(
    ("denied", "code"),
    [
        (DESCRIBE_GROUP, ErrorCode.GROUP_AUTHORIZATION_FAILED),
        (DESCRIBE_TOPIC, ErrorCode.TOPIC_AUTHORIZATION_FAILED),
    ],
)
async def test_description_needs_the_rights_to_the_group_and_to_each_assigned_topic(
    denied: Ask, code: ErrorCode
) -> None:
    world = await ConsumerWorld.loaded(Topics(t=2))
    await join(world)
    (group,) = (await describe(world, "g", authorizer=RecordingAuthorizer({denied}))).groups
    assert (group.error_code, group.members) == (code, [])
