"""AlterConfigs (API 33): replace all dynamic settings of a resource (KIP-133).

A setting that the request does not name goes back to its default; IncrementalAlterConfigs changes single settings.

- v1: throttling happens after the response (KIP-219). v2: flexible.
"""

from ..codec import wire


@wire.struct
class AlterableConfig(wire.Struct):
    name: str = wire.string("0+", default="")
    value: str | None = wire.string("0+", nullable="0+", default="")


@wire.struct
class AlterConfigsResource(wire.Struct):
    resource_type: int = wire.int8("0+", default=0)
    resource_name: str = wire.string("0+", default="")
    configs: list[AlterableConfig] = wire.array(AlterableConfig, "0+", default_factory=list)


@wire.message(api_key=33, versions="0-2", flexible="2+")
class AlterConfigsRequest(wire.Message):
    resources: list[AlterConfigsResource] = wire.array(AlterConfigsResource, "0+", default_factory=list)
    validate_only: bool = wire.boolean("0+", default=False)


@wire.struct
class AlterConfigsResourceResponse(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    resource_type: int = wire.int8("0+", default=0)
    resource_name: str = wire.string("0+", default="")


@wire.message(api_key=33, versions="0-2", flexible="2+")
class AlterConfigsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    responses: list[AlterConfigsResourceResponse] = wire.array(AlterConfigsResourceResponse, "0+", default_factory=list)
