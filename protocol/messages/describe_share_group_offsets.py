"""DescribeShareGroupOffsets (API 90): where share groups have arrived in their partitions (KIP-932).

v0 start offsets · v1 the lag (KIP-1226).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class DescribeShareGroupOffsetsRequestTopic(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.struct
class DescribeShareGroupOffsetsRequestGroup(wire.Struct):
    group_id: str = wire.string("0+", default="")
    topics: list[DescribeShareGroupOffsetsRequestTopic] | None = wire.array(
        DescribeShareGroupOffsetsRequestTopic, "0+", nullable="0+", default_factory=list
    )


@wire.message(api_key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsRequest(wire.Message):
    groups: list[DescribeShareGroupOffsetsRequestGroup] = wire.array(
        DescribeShareGroupOffsetsRequestGroup, "0+", default_factory=list
    )


@wire.struct
class DescribeShareGroupOffsetsResponsePartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    start_offset: int = wire.int64("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)
    lag: int = wire.int64("1+", default=-1, ignorable=True)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)


@wire.struct
class DescribeShareGroupOffsetsResponseTopic(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[DescribeShareGroupOffsetsResponsePartition] = wire.array(
        DescribeShareGroupOffsetsResponsePartition, "0+", default_factory=list
    )


@wire.struct
class DescribeShareGroupOffsetsResponseGroup(wire.Struct):
    group_id: str = wire.string("0+", default="")
    topics: list[DescribeShareGroupOffsetsResponseTopic] = wire.array(
        DescribeShareGroupOffsetsResponseTopic, "0+", default_factory=list
    )
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)


@wire.message(api_key=90, versions="0-1", flexible="0+")
class DescribeShareGroupOffsetsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    groups: list[DescribeShareGroupOffsetsResponseGroup] = wire.array(
        DescribeShareGroupOffsetsResponseGroup, "0+", default_factory=list
    )
