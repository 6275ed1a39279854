"""DescribeAcls (API 29): access rules that match a filter (KIP-140).

- v1: pattern types (KIP-290), throttling happens after the response (KIP-219). v2: flexible.
- v3: rules on users (KIP-373).
"""

from ..codec import wire


@wire.message(api_key=29, versions="0-3", flexible="2+")
class DescribeAclsRequest(wire.Message):
    resource_type_filter: int = wire.int8("0+", default=0)
    resource_name_filter: str | None = wire.string("0+", nullable="0+", default="")
    pattern_type_filter: int = wire.int8("1+", default=3)
    principal_filter: str | None = wire.string("0+", nullable="0+", default="")
    host_filter: str | None = wire.string("0+", nullable="0+", default="")
    operation: int = wire.int8("0+", default=0)
    permission_type: int = wire.int8("0+", default=0)


@wire.struct
class AclDescription(wire.Struct):
    principal: str = wire.string("0+", default="")
    host: str = wire.string("0+", default="")
    operation: int = wire.int8("0+", default=0)
    permission_type: int = wire.int8("0+", default=0)


@wire.struct
class DescribeAclsResource(wire.Struct):
    resource_type: int = wire.int8("0+", default=0)
    resource_name: str = wire.string("0+", default="")
    pattern_type: int = wire.int8("1+", default=3)
    acls: list[AclDescription] = wire.array(AclDescription, "0+", default_factory=list)


@wire.message(api_key=29, versions="0-3", flexible="2+")
class DescribeAclsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    resources: list[DescribeAclsResource] = wire.array(DescribeAclsResource, "0+", default_factory=list)
