"""DescribeGroups (API 15): state, protocol and members of groups.

A group that does not exist is answered as Dead. Member metadata and assignments are there in state Stable only.

- v1: throttle time. v2: throttling happens after the response (KIP-219).
- v3: authorized operations on request (KIP-430). v4: group instance ids (KIP-345). v5: flexible.
- v6: GROUP_ID_NOT_FOUND in place of the state Dead, with a message (KIP-1043).
"""

from ..codec import wire

FIRST_WITH_MESSAGE = 6


@wire.message(api_key=15, versions="0-6", flexible="5+")
class DescribeGroupsRequest(wire.Message):
    groups: list[str] = wire.array(wire.STRING, "0+", default_factory=list)
    include_authorized_operations: bool = wire.boolean("3+", default=False)


@wire.struct
class DescribedGroupMember(wire.Struct):
    member_id: str = wire.string("0+", default="")
    group_instance_id: str | None = wire.string("4+", nullable="4+", default=None, ignorable=True)
    client_id: str = wire.string("0+", default="")
    client_host: str = wire.string("0+", default="")
    member_metadata: bytes = wire.blob("0+", default=b"")
    member_assignment: bytes = wire.blob("0+", default=b"")


@wire.struct
class DescribedGroup(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("6+", nullable="6+", default=None)
    group_id: str = wire.string("0+", default="")
    group_state: str = wire.string("0+", default="")
    protocol_type: str = wire.string("0+", default="")
    protocol_data: str = wire.string("0+", default="")
    members: list[DescribedGroupMember] = wire.array(DescribedGroupMember, "0+", default_factory=list)
    authorized_operations: int = wire.int32("3+", default=-2147483648)


@wire.message(api_key=15, versions="0-6", flexible="5+")
class DescribeGroupsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("1+", default=0, ignorable=True)
    groups: list[DescribedGroup] = wire.array(DescribedGroup, "0+", default_factory=list)
