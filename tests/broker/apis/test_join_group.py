"""JoinGroup in every version."""

import asyncio

import pytest
from pybroker.broker.apis.groups.join_group import JoinGroup
from pybroker.broker.coordinator.group.group import Group
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from support.in_process.group_handlers import call, context, owning_coordinator, versions


def join(version: int, member_id: str = "", instance_id: str | None = None) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        group_instance_id=instance_id if version >= 5 else None,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"\x01")],
    )


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP))
async def test_every_version_joins_a_group(version: int) -> None:
    coordinator, _, _ = await owning_coordinator()
    handler = JoinGroup(coordinator.membership)

    response = await call(handler, version, join(version))
    if version >= 4:
        assert response.error_code == ErrorCode.MEMBER_ID_REQUIRED
        assert response.protocol_name == (None if version >= 7 else "")
        response = await call(handler, version, join(version, response.member_id))

    assert (response.error_code, response.generation_id, response.protocol_name) == (0, 1, "range")
    assert response.member_id == response.leader == response.members[0].member_id == "c-0001"
    assert response.members[0].metadata == b"\x01"
    assert response.protocol_type == ("consumer" if version >= 7 else None)
    group = coordinator.registry.get("g")
    assert isinstance(group, Group)
    (member,) = group.members.values()
    assert member.rebalance_timeout_ms == (60_000 if version >= 1 else 10_000)
    assert (member.client_id, member.client_host) == ("c", "/10.0.0.7")


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP, first=5))
async def test_static_members_join_in_one_step_and_return(version: int) -> None:
    coordinator, _, _ = await owning_coordinator()
    handler = JoinGroup(coordinator.membership)
    first = await call(handler, version, join(version, instance_id="i"))
    assert (first.error_code, first.members[0].group_instance_id) == (0, "i")
    again = await call(handler, version, join(version, first.member_id, instance_id="other"))
    assert again.error_code == ErrorCode.UNKNOWN_MEMBER_ID


async def test_join_group_is_answered_when_the_rebalance_is_over() -> None:
    coordinator, _, _ = await owning_coordinator()
    handler = JoinGroup(coordinator.membership)
    first = await call(handler, 3, join(3))
    second = asyncio.create_task(call(handler, 3, join(3)))
    await asyncio.sleep(0)
    assert not second.done()

    rejoined = await call(handler, 3, join(3, first.member_id))

    assert rejoined.generation_id == (await second).generation_id == 2
    assert (await second).members == []


async def test_a_client_without_a_client_id_joins() -> None:
    coordinator, _, _ = await owning_coordinator()
    response = await call(JoinGroup(coordinator.membership), 3, join(3), client_id=None)
    assert (response.error_code, response.member_id) == (0, "-0001")


@pytest.mark.parametrize("version", versions(ApiKey.JOIN_GROUP))
async def test_every_version_of_join_group_can_return_an_error(version: int) -> None:
    coordinator, _, _ = await owning_coordinator()
    request = join(version)
    request.session_timeout_ms = 1
    response = await call(JoinGroup(coordinator.membership), version, request)
    assert (response.error_code, response.generation_id) == (ErrorCode.INVALID_SESSION_TIMEOUT, -1)


async def test_a_closed_connection_frees_its_request_but_the_group_keeps_waiting_for_the_member() -> None:
    coordinator, _, _ = await owning_coordinator()
    handler = JoinGroup(coordinator.membership)
    first = await call(handler, 3, join(3))
    surroundings = context(3)
    waiting = handler(surroundings, join(3))
    assert isinstance(waiting, asyncio.Future)
    assert surroundings.abandon is not None
    surroundings.abandon()
    assert waiting.cancelled()
    group = coordinator.registry.get("g")
    assert isinstance(group, Group)
    assert (len(group.members), group.awaiting_join_count) == (2, 1)
    again = await call(handler, 3, join(3, first.member_id))
    assert (again.error_code, again.generation_id, len(again.members)) == (0, 2, 2)
