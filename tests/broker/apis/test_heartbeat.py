"""Heartbeat in every version."""

import pytest
from pybroker.broker.apis.groups.heartbeat import Heartbeat
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.heartbeat import HeartbeatRequest
from support.clients.group_clients import GroupWorld
from support.in_process.group_handlers import call, versions


@pytest.mark.parametrize("version", versions(ApiKey.HEARTBEAT))
async def test_every_version_of_heartbeat_keeps_the_member(version: int) -> None:
    world = GroupWorld()
    (member_id,) = world.stable_group("a")
    handler = Heartbeat(world.parts.membership)
    response = await call(handler, version, HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id))
    assert response.error_code == 0
    response = await call(handler, version, HeartbeatRequest(group_id="g", generation_id=2, member_id=member_id))
    assert response.error_code == ErrorCode.ILLEGAL_GENERATION


async def test_a_heartbeat_of_a_replaced_static_member_is_fenced() -> None:
    world = GroupWorld()
    old = world.join(instance_id="i").result.member_id
    world.join(instance_id="i")
    request = HeartbeatRequest(group_id="g", generation_id=1, member_id=old, group_instance_id="i")
    response = await call(Heartbeat(world.parts.membership), 3, request)
    assert response.error_code == ErrorCode.FENCED_INSTANCE_ID
