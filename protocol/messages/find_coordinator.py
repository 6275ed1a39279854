"""FindCoordinator (API 10): the broker that coordinates a group or a transactional id.

- v1: key type (0 group, 1 transaction), throttle time, error message (KIP-98).
- v2: throttling happens after the response (KIP-219). v3: flexible. v4: several keys at once (KIP-699).
- v5: TRANSACTION_ABORTABLE may be answered (KIP-890). v6: key type 2, share groups (KIP-932).
"""

from ..codec import wire


@wire.message(api_key=10, versions="0-6", flexible="3+")
class FindCoordinatorRequest(wire.Message):
    key: str = wire.string("0-3", default="")
    key_type: int = wire.int8("1+", default=0)
    coordinator_keys: list[str] = wire.array(wire.STRING, "4+", default_factory=list)


@wire.struct
class Coordinator(wire.Struct):
    key: str = wire.string("4+", default="")
    node_id: int = wire.int32("4+", default=0)
    host: str = wire.string("4+", default="")
    port: int = wire.int32("4+", default=0)
    error_code: int = wire.int16("4+", default=0)
    error_message: str | None = wire.string("4+", nullable="4+", default="", ignorable=True)


@wire.message(api_key=10, versions="0-6", flexible="3+")
class FindCoordinatorResponse(wire.Message):
    throttle_time_ms: int = wire.int32("1+", default=0, ignorable=True)
    error_code: int = wire.int16("0-3", default=0)
    error_message: str | None = wire.string("1-3", nullable="1-3", default="", ignorable=True)
    node_id: int = wire.int32("0-3", default=0)
    host: str = wire.string("0-3", default="")
    port: int = wire.int32("0-3", default=0)
    coordinators: list[Coordinator] = wire.array(Coordinator, "4+", default_factory=list)
