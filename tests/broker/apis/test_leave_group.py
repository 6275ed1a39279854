"""LeaveGroup in every version."""

import pytest
from pybroker.broker.apis.groups.leave_group import LeaveGroup
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from support.clients.group_clients import GroupWorld
from support.in_process.group_handlers import call, versions


@pytest.mark.parametrize("version", versions(ApiKey.LEAVE_GROUP, last=2))
async def test_below_version_3_the_error_of_the_one_member_is_at_the_top(version: int) -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    handler = LeaveGroup(world.parts.membership)
    request = LeaveGroupRequest(group_id="g", member_id=member_id)
    assert (await call(handler, version, request)).error_code == 0
    assert (await call(handler, version, request)).error_code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", versions(ApiKey.LEAVE_GROUP, first=3))
async def test_from_version_3_many_members_leave_with_a_result_each(version: int) -> None:
    world = GroupWorld()
    leader, _ = world.stable_group("a", "b")
    request = LeaveGroupRequest(
        group_id="g",
        members=[MemberIdentity(member_id=leader), MemberIdentity(member_id="", group_instance_id="nobody")],
    )
    response = await call(LeaveGroup(world.parts.membership), version, request)
    assert response.error_code == 0
    assert [(one.member_id, one.group_instance_id, one.error_code) for one in response.members] == [
        (leader, None, 0),
        ("", "nobody", ErrorCode.UNKNOWN_MEMBER_ID),
    ]


@pytest.mark.parametrize("version", versions(ApiKey.LEAVE_GROUP))
async def test_leave_group_for_a_group_of_another_coordinator_fails_as_a_whole(version: int) -> None:
    world = GroupWorld(owned=())
    who = [MemberIdentity(member_id="m")] if version >= 3 else []
    request = LeaveGroupRequest(group_id="g", member_id="" if version >= 3 else "m", members=who)
    response = await call(LeaveGroup(world.parts.membership), version, request)
    assert (response.error_code, response.members) == (ErrorCode.NOT_COORDINATOR, [])
