"""OffsetDelete (API 47): delete a group's offsets of partitions to which it is not subscribed (KIP-496)."""

from ..codec import wire


@wire.struct
class OffsetDeleteRequestPartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)


@wire.struct
class OffsetDeleteRequestTopic(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[OffsetDeleteRequestPartition] = wire.array(
        OffsetDeleteRequestPartition, "0+", default_factory=list
    )


@wire.message(api_key=47, versions="0", flexible="none")
class OffsetDeleteRequest(wire.Message):
    group_id: str = wire.string("0+", default="")
    topics: list[OffsetDeleteRequestTopic] = wire.array(OffsetDeleteRequestTopic, "0+", default_factory=list)


@wire.struct
class OffsetDeleteResponsePartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)


@wire.struct
class OffsetDeleteResponseTopic(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[OffsetDeleteResponsePartition] = wire.array(
        OffsetDeleteResponsePartition, "0+", default_factory=list
    )


@wire.message(api_key=47, versions="0", flexible="none")
class OffsetDeleteResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    throttle_time_ms: int = wire.int32("0+", default=0, ignorable=True)
    topics: list[OffsetDeleteResponseTopic] = wire.array(OffsetDeleteResponseTopic, "0+", default_factory=list)
