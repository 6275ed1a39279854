"""SyncGroup (API 14): the leader sends the assignment, and every member waits for its part.

- v1: throttle time. v2: throttling happens after the response (KIP-219).
- v3: group instance id (KIP-345). v4: flexible.
- v5: protocol type and name both ways; ones that do not fit are refused (KIP-559).
"""

from ..codec import wire


@wire.struct
class SyncGroupRequestAssignment(wire.Struct):
    member_id: str = wire.string("0+", default="")
    assignment: bytes = wire.blob("0+", default=b"")


@wire.message(api_key=14, versions="0-5", flexible="4+")
class SyncGroupRequest(wire.Message):
    group_id: str = wire.string("0+", default="")
    generation_id: int = wire.int32("0+", default=0)
    member_id: str = wire.string("0+", default="")
    group_instance_id: str | None = wire.string("3+", nullable="3+", default=None)
    protocol_type: str | None = wire.string("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = wire.string("5+", nullable="5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = wire.array(SyncGroupRequestAssignment, "0+", default_factory=list)


@wire.message(api_key=14, versions="0-5", flexible="4+")
class SyncGroupResponse(wire.Message):
    throttle_time_ms: int = wire.int32("1+", default=0, ignorable=True)
    error_code: int = wire.int16("0+", default=0)
    protocol_type: str | None = wire.string("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = wire.string("5+", nullable="5+", default=None, ignorable=True)
    assignment: bytes = wire.blob("0+", default=b"")
