"""DeleteShareGroupState (API 86): delete the persisted state of a share group's partitions (KIP-932).

Unstable in 3.9, so it is not advertised.
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class PartitionData(wire.Struct):
    partition: int = wire.int32("0+", default=0)


@wire.struct
class DeleteStateData(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[PartitionData] = wire.array(PartitionData, "0+", default_factory=list)


@wire.message(api_key=86, versions="0", flexible="0+")
class DeleteShareGroupStateRequest(wire.Message):
    group_id: str = wire.string("0+", default="")
    topics: list[DeleteStateData] = wire.array(DeleteStateData, "0+", default_factory=list)


@wire.struct
class PartitionResult(wire.Struct):
    partition: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)


@wire.struct
class DeleteStateResult(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[PartitionResult] = wire.array(PartitionResult, "0+", default_factory=list)


@wire.message(api_key=86, versions="0", flexible="0+")
class DeleteShareGroupStateResponse(wire.Message):
    results: list[DeleteStateResult] = wire.array(DeleteStateResult, "0+", default_factory=list)
