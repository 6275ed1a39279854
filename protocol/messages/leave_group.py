"""LeaveGroup (API 13): members leave a group at once instead of by their session's end.

- v1: throttle time. v2: throttling happens after the response (KIP-219).
- v3: several members, by member id or group instance id (KIP-345). v4: flexible.
- v5: the reason for leaving (KIP-800).
"""

from ..codec import wire


@wire.struct
class MemberIdentity(wire.Struct):
    member_id: str = wire.string("3+", default="")
    group_instance_id: str | None = wire.string("3+", nullable="3+", default=None)
    reason: str | None = wire.string("5+", nullable="5+", default=None, ignorable=True)


@wire.message(api_key=13, versions="0-5", flexible="4+")
class LeaveGroupRequest(wire.Message):
    group_id: str = wire.string("0+", default="")
    member_id: str = wire.string("0-2", default="")
    members: list[MemberIdentity] = wire.array(MemberIdentity, "3+", default_factory=list)


@wire.struct
class MemberResponse(wire.Struct):
    member_id: str = wire.string("3+", default="")
    group_instance_id: str | None = wire.string("3+", nullable="3+", default="")
    error_code: int = wire.int16("3+", default=0)


@wire.message(api_key=13, versions="0-5", flexible="4+")
class LeaveGroupResponse(wire.Message):
    throttle_time_ms: int = wire.int32("1+", default=0, ignorable=True)
    error_code: int = wire.int16("0+", default=0)
    members: list[MemberResponse] = wire.array(MemberResponse, "3+", default_factory=list)
