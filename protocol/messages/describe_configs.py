"""DescribeConfigs (API 32): settings of topics, brokers and loggers (KIP-133). Secrets are answered as null.

- v1: synonyms on request, and the source of a value instead of "is default" (KIP-226).
- v2: throttling happens after the response (KIP-219). v3: types, and documentation on request (KIP-569).
- v4: flexible.
"""

from ..codec import wire


@wire.struct
class DescribeConfigsResource(wire.Struct):
    resource_type: int = wire.int8("0+", default=0)
    resource_name: str = wire.string("0+", default="")
    configuration_keys: list[str] | None = wire.array(wire.STRING, "0+", nullable="0+", default_factory=list)


@wire.message(api_key=32, versions="0-4", flexible="4+")
class DescribeConfigsRequest(wire.Message):
    resources: list[DescribeConfigsResource] = wire.array(DescribeConfigsResource, "0+", default_factory=list)
    include_synonyms: bool = wire.boolean("1+", default=False)
    include_documentation: bool = wire.boolean("3+", default=False)


@wire.struct
class DescribeConfigsSynonym(wire.Struct):
    name: str = wire.string("1+", default="")
    value: str | None = wire.string("1+", nullable="0+", default="")
    source: int = wire.int8("1+", default=0)


@wire.struct
class DescribeConfigsResourceResult(wire.Struct):
    name: str = wire.string("0+", default="")
    value: str | None = wire.string("0+", nullable="0+", default="")
    read_only: bool = wire.boolean("0+", default=False)
    is_default: bool = wire.boolean("0", default=False)
    config_source: int = wire.int8("1+", default=-1, ignorable=True)
    is_sensitive: bool = wire.boolean("0+", default=False)
    synonyms: list[DescribeConfigsSynonym] = wire.array(
        DescribeConfigsSynonym, "1+", default_factory=list, ignorable=True
    )
    config_type: int = wire.int8("3+", default=0, ignorable=True)
    documentation: str | None = wire.string("3+", nullable="0+", default="", ignorable=True)


@wire.struct
class DescribeConfigsResult(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    resource_type: int = wire.int8("0+", default=0)
    resource_name: str = wire.string("0+", default="")
    configs: list[DescribeConfigsResourceResult] = wire.array(DescribeConfigsResourceResult, "0+", default_factory=list)


@wire.message(api_key=32, versions="0-4", flexible="4+")
class DescribeConfigsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    results: list[DescribeConfigsResult] = wire.array(DescribeConfigsResult, "0+", default_factory=list)
