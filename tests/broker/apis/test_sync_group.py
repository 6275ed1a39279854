"""SyncGroup in every version."""

import pytest
from pybroker.broker.apis.groups.join_group import JoinGroup
from pybroker.broker.apis.groups.sync_group import SyncGroup
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from pybroker.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from support.in_process.group_handlers import call, owning_coordinator, versions


async def joined() -> tuple[SyncGroup, str]:
    coordinator, _, _ = await owning_coordinator()
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    response = await call(JoinGroup(coordinator.membership), 3, request)
    return SyncGroup(coordinator.membership), response.member_id


def sync(member_id: str, generation_id: int = 1) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id="g",
        generation_id=generation_id,
        member_id=member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id=member_id, assignment=b"all")],
    )


@pytest.mark.parametrize("version", versions(ApiKey.SYNC_GROUP))
async def test_every_version_of_sync_group_returns_the_assignment(version: int) -> None:
    handler, member_id = await joined()
    for _ in range(2):  # the first sync stores the assignment, the second gets it as stored
        response = await call(handler, version, sync(member_id))
        assert (response.error_code, response.assignment) == (0, b"all")
        if version >= 5:
            assert (response.protocol_type, response.protocol_name) == ("consumer", "range")


@pytest.mark.parametrize("version", versions(ApiKey.SYNC_GROUP))
async def test_every_version_of_sync_group_can_return_an_error(version: int) -> None:
    handler, member_id = await joined()
    response = await call(handler, version, sync(member_id, generation_id=9))
    assert (response.error_code, response.assignment) == (ErrorCode.ILLEGAL_GENERATION, b"")


async def test_sync_group_version_5_must_name_the_protocol() -> None:
    handler, member_id = await joined()
    for field in ("protocol_type", "protocol_name"):
        request = sync(member_id)
        setattr(request, field, None)
        response = await call(handler, 5, request)
        assert response.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
