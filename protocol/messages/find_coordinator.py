"""FindCoordinator (API 10), versions 0-6."""

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
