"""Heartbeat (API 12): a member shows that it is alive, and learns of a rebalance.

- v1: throttle time. v2: throttling happens after the response (KIP-219).
- v3: group instance id (KIP-345). v4: flexible.
"""

from ..codec import wire


@wire.message(api_key=12, versions="0-4", flexible="4+")
class HeartbeatRequest(wire.Message):
    group_id: str = wire.string("0+", default="")
    generation_id: int = wire.int32("0+", default=0)
    member_id: str = wire.string("0+", default="")
    group_instance_id: str | None = wire.string("3+", nullable="3+", default=None)


@wire.message(api_key=12, versions="0-4", flexible="4+")
class HeartbeatResponse(wire.Message):
    throttle_time_ms: int = wire.int32("1+", default=0, ignorable=True)
    error_code: int = wire.int16("0+", default=0)
