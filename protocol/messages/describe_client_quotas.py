"""DescribeClientQuotas (API 48): quotas of users, client ids and addresses that match a filter (KIP-546).

- v1: flexible.
"""

from ..codec import wire


@wire.struct
class ComponentData(wire.Struct):
    entity_type: str = wire.string("0+", default="")
    match_type: int = wire.int8("0+", default=0)
    match: str | None = wire.string("0+", nullable="0+", default="")


@wire.message(api_key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasRequest(wire.Message):
    components: list[ComponentData] = wire.array(ComponentData, "0+", default_factory=list)
    strict: bool = wire.boolean("0+", default=False)


@wire.struct
class EntityData(wire.Struct):
    entity_type: str = wire.string("0+", default="")
    entity_name: str | None = wire.string("0+", nullable="0+", default="")


@wire.struct
class ValueData(wire.Struct):
    key: str = wire.string("0+", default="")
    value: float = wire.float64("0+", default=0.0)


@wire.struct
class EntryData(wire.Struct):
    entity: list[EntityData] = wire.array(EntityData, "0+", default_factory=list)
    values: list[ValueData] = wire.array(ValueData, "0+", default_factory=list)


@wire.message(api_key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    entries: list[EntryData] | None = wire.array(EntryData, "0+", nullable="0+", default_factory=list)
