"""JoinGroup (API 11): become a member of a group, or take part in its next generation.

Answered when the rebalance ends; the leader's response holds all members with their metadata, the others' none.

- v1: a rebalance timeout of its own; before it was the session timeout (KIP-62). v2: throttle time.
- v3: throttling happens after the response (KIP-219). v4: MEMBER_ID_REQUIRED gives a new member its id (KIP-394).
- v5: group instance id (KIP-345). v6: flexible. v7: protocol type in the response (KIP-559).
- v8: the reason for joining (KIP-800). v9: the leader may be told to skip the assignment (KIP-814).
"""

from ..codec import wire


@wire.struct
class JoinGroupRequestProtocol(wire.Struct):
    name: str = wire.string("0+", default="")
    metadata: bytes = wire.blob("0+", default=b"")


@wire.message(api_key=11, versions="0-9", flexible="6+")
class JoinGroupRequest(wire.Message):
    group_id: str = wire.string("0+", default="")
    session_timeout_ms: int = wire.int32("0+", default=0)
    rebalance_timeout_ms: int = wire.int32("1+", default=-1, ignorable=True)
    member_id: str = wire.string("0+", default="")
    group_instance_id: str | None = wire.string("5+", nullable="5+", default=None)
    protocol_type: str = wire.string("0+", default="")
    protocols: list[JoinGroupRequestProtocol] = wire.array(JoinGroupRequestProtocol, "0+", default_factory=list)
    reason: str | None = wire.string("8+", nullable="8+", default=None, ignorable=True)


@wire.struct
class JoinGroupResponseMember(wire.Struct):
    member_id: str = wire.string("0+", default="")
    group_instance_id: str | None = wire.string("5+", nullable="5+", default=None, ignorable=True)
    metadata: bytes = wire.blob("0+", default=b"")


@wire.message(api_key=11, versions="0-9", flexible="6+")
class JoinGroupResponse(wire.Message):
    throttle_time_ms: int = wire.int32("2+", default=0, ignorable=True)
    error_code: int = wire.int16("0+", default=0)
    generation_id: int = wire.int32("0+", default=-1)
    protocol_type: str | None = wire.string("7+", nullable="7+", default=None, ignorable=True)
    protocol_name: str | None = wire.string("0+", nullable="7+", default="")
    leader: str = wire.string("0+", default="")
    skip_assignment: bool = wire.boolean("9+", default=False)
    member_id: str = wire.string("0+", default="")
    members: list[JoinGroupResponseMember] = wire.array(JoinGroupResponseMember, "0+", default_factory=list)
