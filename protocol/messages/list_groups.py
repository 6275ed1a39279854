"""ListGroups (API 16): the groups that this broker coordinates.

- v1: throttle time. v2: throttling happens after the response (KIP-219). v3: flexible.
- v4: states, and a filter by them (KIP-518). v5: group types, and a filter by them (KIP-848).
"""

from ..codec import wire


@wire.message(api_key=16, versions="0-5", flexible="3+")
class ListGroupsRequest(wire.Message):
    states_filter: list[str] = wire.array(wire.STRING, "4+", default_factory=list)
    types_filter: list[str] = wire.array(wire.STRING, "5+", default_factory=list)


@wire.struct
class ListedGroup(wire.Struct):
    group_id: str = wire.string("0+", default="")
    protocol_type: str = wire.string("0+", default="")
    group_state: str = wire.string("4+", default="", ignorable=True)
    group_type: str = wire.string("5+", default="", ignorable=True)


@wire.message(api_key=16, versions="0-5", flexible="3+")
class ListGroupsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("1+", default=0, ignorable=True)
    error_code: int = wire.int16("0+", default=0)
    groups: list[ListedGroup] = wire.array(ListedGroup, "0+", default_factory=list)
