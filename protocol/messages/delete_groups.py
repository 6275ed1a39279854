"""DeleteGroups (API 42): delete empty groups with their offsets (KIP-229).

- v1: throttling happens after the response (KIP-219). v2: flexible.
"""

from ..codec import wire


@wire.message(api_key=42, versions="0-2", flexible="2+")
class DeleteGroupsRequest(wire.Message):
    groups_names: list[str] = wire.array(wire.STRING, "0+", default_factory=list)


@wire.struct
class DeletableGroupResult(wire.Struct):
    group_id: str = wire.string("0+", default="")
    error_code: int = wire.int16("0+", default=0)


@wire.message(api_key=42, versions="0-2", flexible="2+")
class DeleteGroupsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    results: list[DeletableGroupResult] = wire.array(DeletableGroupResult, "0+", default_factory=list)
