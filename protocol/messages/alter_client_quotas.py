"""AlterClientQuotas (API 49): set or remove quotas of users, client ids and addresses (KIP-546).

- v1: flexible.
"""

from ..codec import wire


@wire.struct
class RequestEntityData(wire.Struct):
    entity_type: str = wire.string("0+", default="")
    entity_name: str | None = wire.string("0+", nullable="0+", default="")


@wire.struct
class OpData(wire.Struct):
    key: str = wire.string("0+", default="")
    value: float = wire.float64("0+", default=0.0)
    remove: bool = wire.boolean("0+", default=False)


@wire.struct
class RequestEntryData(wire.Struct):
    entity: list[RequestEntityData] = wire.array(RequestEntityData, "0+", default_factory=list)
    ops: list[OpData] = wire.array(OpData, "0+", default_factory=list)


@wire.message(api_key=49, versions="0-1", flexible="1+")
class AlterClientQuotasRequest(wire.Message):
    entries: list[RequestEntryData] = wire.array(RequestEntryData, "0+", default_factory=list)
    validate_only: bool = wire.boolean("0+", default=False)


@wire.struct
class ResponseEntityData(wire.Struct):
    entity_type: str = wire.string("0+", default="")
    entity_name: str | None = wire.string("0+", nullable="0+", default="")


@wire.struct
class ResponseEntryData(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    entity: list[ResponseEntityData] = wire.array(ResponseEntityData, "0+", default_factory=list)


@wire.message(api_key=49, versions="0-1", flexible="1+")
class AlterClientQuotasResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    entries: list[ResponseEntryData] = wire.array(ResponseEntryData, "0+", default_factory=list)
