"""CreateAcls (API 30): add access rules (KIP-140).

- v1: pattern types (KIP-290), throttling happens after the response (KIP-219). v2: flexible.
- v3: rules on users (KIP-373).
"""

from ..codec import wire


@wire.struct
class AclCreation(wire.Struct):
    resource_type: int = wire.int8("0+", default=0)
    resource_name: str = wire.string("0+", default="")
    resource_pattern_type: int = wire.int8("1+", default=3)
    principal: str = wire.string("0+", default="")
    host: str = wire.string("0+", default="")
    operation: int = wire.int8("0+", default=0)
    permission_type: int = wire.int8("0+", default=0)


@wire.message(api_key=30, versions="0-3", flexible="2+")
class CreateAclsRequest(wire.Message):
    creations: list[AclCreation] = wire.array(AclCreation, "0+", default_factory=list)


@wire.struct
class AclCreationResult(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")


@wire.message(api_key=30, versions="0-3", flexible="2+")
class CreateAclsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    results: list[AclCreationResult] = wire.array(AclCreationResult, "0+", default_factory=list)
