"""AlterShareGroupOffsets (API 91): set the start offsets of a share group without members (KIP-932)."""

from uuid import UUID

from ..codec import wire


@wire.struct
class AlterShareGroupOffsetsRequestPartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    start_offset: int = wire.int64("0+", default=0)


@wire.struct
class AlterShareGroupOffsetsRequestTopic(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partitions: list[AlterShareGroupOffsetsRequestPartition] = wire.array(
        AlterShareGroupOffsetsRequestPartition, "0+", default_factory=list
    )


@wire.message(api_key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsRequest(wire.Message):
    group_id: str = wire.string("0+", default="")
    topics: list[AlterShareGroupOffsetsRequestTopic] = wire.array(
        AlterShareGroupOffsetsRequestTopic, "0+", default_factory=list
    )


@wire.struct
class AlterShareGroupOffsetsResponsePartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)


@wire.struct
class AlterShareGroupOffsetsResponseTopic(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[AlterShareGroupOffsetsResponsePartition] = wire.array(
        AlterShareGroupOffsetsResponsePartition, "0+", default_factory=list
    )


@wire.message(api_key=91, versions="0", flexible="0+")
class AlterShareGroupOffsetsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)
    responses: list[AlterShareGroupOffsetsResponseTopic] = wire.array(
        AlterShareGroupOffsetsResponseTopic, "0+", default_factory=list
    )
