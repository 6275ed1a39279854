"""ControllerRegistration (API 70): a KRaft controller registers with the active one (KIP-919). Controllers only."""

from uuid import UUID

from ..codec import wire


@wire.struct
class Listener(wire.Struct):
    name: str = wire.string("0+", default="")
    host: str = wire.string("0+", default="")
    port: int = wire.uint16("0+", default=0)
    security_protocol: int = wire.int16("0+", default=0)


@wire.struct
class Feature(wire.Struct):
    name: str = wire.string("0+", default="")
    min_supported_version: int = wire.int16("0+", default=0)
    max_supported_version: int = wire.int16("0+", default=0)


@wire.message(api_key=70, versions="0", flexible="0+")
class ControllerRegistrationRequest(wire.Message):
    controller_id: int = wire.int32("0+", default=0)
    incarnation_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    zk_migration_ready: bool = wire.boolean("0+", default=False)
    listeners: list[Listener] = wire.array(Listener, "0+", default_factory=list)
    features: list[Feature] = wire.array(Feature, "0+", default_factory=list)


@wire.message(api_key=70, versions="0", flexible="0+")
class ControllerRegistrationResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
