"""IncrementalAlterConfigs (API 44): set, delete, append to or subtract from single settings (KIP-339).

- v1: flexible.
"""

from ..codec import wire


@wire.struct
class AlterableConfig(wire.Struct):
    name: str = wire.string("0+", default="")
    config_operation: int = wire.int8("0+", default=0)
    value: str | None = wire.string("0+", nullable="0+", default="")


@wire.struct
class AlterConfigsResource(wire.Struct):
    resource_type: int = wire.int8("0+", default=0)
    resource_name: str = wire.string("0+", default="")
    configs: list[AlterableConfig] = wire.array(AlterableConfig, "0+", default_factory=list)


@wire.message(api_key=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsRequest(wire.Message):
    resources: list[AlterConfigsResource] = wire.array(AlterConfigsResource, "0+", default_factory=list)
    validate_only: bool = wire.boolean("0+", default=False)


@wire.struct
class AlterConfigsResourceResponse(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    resource_type: int = wire.int8("0+", default=0)
    resource_name: str = wire.string("0+", default="")


@wire.message(api_key=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    responses: list[AlterConfigsResourceResponse] = wire.array(AlterConfigsResourceResponse, "0+", default_factory=list)
