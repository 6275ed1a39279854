"""DeleteAcls (API 31): remove the access rules that match filters (KIP-140).

- v1: pattern types (KIP-290), throttling happens after the response (KIP-219). v2: flexible.
- v3: rules on users (KIP-373).
"""

from ..codec import wire


@wire.struct
class DeleteAclsFilter(wire.Struct):
    resource_type_filter: int = wire.int8("0+", default=0)
    resource_name_filter: str | None = wire.string("0+", nullable="0+", default="")
    pattern_type_filter: int = wire.int8("1+", default=3)
    principal_filter: str | None = wire.string("0+", nullable="0+", default="")
    host_filter: str | None = wire.string("0+", nullable="0+", default="")
    operation: int = wire.int8("0+", default=0)
    permission_type: int = wire.int8("0+", default=0)


@wire.message(api_key=31, versions="0-3", flexible="2+")
class DeleteAclsRequest(wire.Message):
    filters: list[DeleteAclsFilter] = wire.array(DeleteAclsFilter, "0+", default_factory=list)


@wire.struct
class DeleteAclsMatchingAcl(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    resource_type: int = wire.int8("0+", default=0)
    resource_name: str = wire.string("0+", default="")
    pattern_type: int = wire.int8("1+", default=3)
    principal: str = wire.string("0+", default="")
    host: str = wire.string("0+", default="")
    operation: int = wire.int8("0+", default=0)
    permission_type: int = wire.int8("0+", default=0)


@wire.struct
class DeleteAclsFilterResult(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    matching_acls: list[DeleteAclsMatchingAcl] = wire.array(DeleteAclsMatchingAcl, "0+", default_factory=list)


@wire.message(api_key=31, versions="0-3", flexible="2+")
class DeleteAclsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    filter_results: list[DeleteAclsFilterResult] = wire.array(DeleteAclsFilterResult, "0+", default_factory=list)
