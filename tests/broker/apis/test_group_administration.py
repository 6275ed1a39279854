"""ListGroups, DescribeGroups, DeleteGroups and OffsetDelete."""

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.apis.groups.delete_groups import DeleteGroups
from pybroker.broker.apis.groups.describe_groups import DescribeGroups
from pybroker.broker.apis.groups.list_groups import ListGroups
from pybroker.broker.apis.groups.offset_delete import OffsetDelete
from pybroker.broker.requests.duplicate_names import MAX_DUPLICATES
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.delete_groups import DeleteGroupsRequest
from pybroker.protocol.messages.describe_groups import DescribeGroupsRequest
from pybroker.protocol.messages.list_groups import ListGroupsRequest
from pybroker.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from support.clients.group_clients import GroupWorld
from support.in_process.group_handlers import call, versions

T0 = TopicPartition("t", 0)


@pytest.fixture
def world() -> GroupWorld:
    """Group `g` is stable, `simple` has offsets only."""
    world = GroupWorld()
    world.stable_group("a")
    world.commit({T0: 1}, group_id="simple")
    return world


@pytest.mark.parametrize("version", versions(ApiKey.LIST_GROUPS))
async def test_every_version_lists_groups(world: GroupWorld, version: int) -> None:
    response = await call(ListGroups(world.parts.administration), version, ListGroupsRequest())
    state, kind = ("Stable" if version >= 4 else ""), ("classic" if version >= 5 else "")
    assert response.error_code == 0
    first, second = response.groups
    assert (first.group_id, first.protocol_type, first.group_state, first.group_type) == ("g", "consumer", state, kind)
    assert (second.group_id, second.protocol_type) == ("simple", "")


async def test_list_groups_filters_by_state_and_type(world: GroupWorld) -> None:
    handler = ListGroups(world.parts.administration)
    response = await call(handler, 4, ListGroupsRequest(states_filter=["empty"]))
    assert [group.group_id for group in response.groups] == ["simple"]
    response = await call(handler, 5, ListGroupsRequest(types_filter=["consumer"]))
    assert response.groups == []


@pytest.mark.parametrize("version", versions(ApiKey.DESCRIBE_GROUPS))
async def test_every_version_describes_groups(world: GroupWorld, version: int) -> None:
    request = DescribeGroupsRequest(groups=["g", "nothing"], include_authorized_operations=version >= 3)
    response = await call(DescribeGroups(world.parts.administration), version, request)
    group, nothing = response.groups
    assert (group.error_code, group.group_state, group.protocol_type, group.protocol_data) == (
        0,
        "Stable",
        "consumer",
        "range",
    )
    assert group.members[0].member_assignment == b"share of a-0001"
    assert group.authorized_operations == (328 if version >= 3 else -(2**31))
    code = ErrorCode.GROUP_ID_NOT_FOUND if version >= 6 else ErrorCode.NONE
    assert (nothing.error_code, nothing.group_state, nothing.members) == (code, "Dead", [])
    assert nothing.error_message == ("Group nothing not found." if version >= 6 else None)


@pytest.mark.parametrize("version", versions(ApiKey.DELETE_GROUPS))
async def test_every_version_deletes_groups(world: GroupWorld, version: int) -> None:
    request = DeleteGroupsRequest(groups_names=["g", "simple", "nothing", "simple"])
    response = await call(DeleteGroups(world.parts.administration), version, request)
    assert [(one.group_id, one.error_code) for one in response.results] == [
        ("g", ErrorCode.NON_EMPTY_GROUP),
        ("simple", 0),
        ("nothing", ErrorCode.GROUP_ID_NOT_FOUND),
    ]


async def test_offset_delete_reports_a_result_for_each_partition(world: GroupWorld) -> None:
    handler = OffsetDelete(world.parts.administration, lambda topic, partition: topic == "t" and partition == 0)
    topic = OffsetDeleteRequestTopic(
        name="t", partitions=[OffsetDeleteRequestPartition(partition_index=index) for index in (0, 1)]
    )

    response = await call(handler, 0, OffsetDeleteRequest(group_id="simple", topics=[topic]))
    assert response.error_code == 0
    assert [(one.partition_index, one.error_code) for one in response.topics[0].partitions] == [
        (0, 0),
        (1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    response = await call(handler, 0, OffsetDeleteRequest(group_id="nothing", topics=[topic]))
    assert (response.error_code, response.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


async def test_describe_groups_describes_a_group_named_very_often_once(world: GroupWorld) -> None:
    request = DescribeGroupsRequest(groups=["g", "nothing", *["g"] * MAX_DUPLICATES, "nothing"])
    response = await call(DescribeGroups(world.parts.administration), 5, request)
    assert [group.group_id for group in response.groups] == ["g", "nothing"]
