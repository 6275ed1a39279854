"""WriteShareGroupState (API 85): persist the delivery state of a share group's partitions (KIP-932).

v1 brings the number of offsets whose delivery is complete (KIP-1226). Unstable in 3.9, so it is not advertised.
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class StateBatch(wire.Struct):
    first_offset: int = wire.int64("0+", default=0)
    last_offset: int = wire.int64("0+", default=0)
    delivery_state: int = wire.int8("0+", default=0)
    delivery_count: int = wire.int16("0+", default=0)


@wire.struct
class PartitionData(wire.Struct):
    partition: int = wire.int32("0+", default=0)
    state_epoch: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)
    start_offset: int = wire.int64("0+", default=0)
    delivery_complete_count: int = wire.int32("1+", default=-1, ignorable=True)
    state_batches: list[StateBatch] = wire.array(StateBatch, "0+", default_factory=list)


@wire.struct
class WriteStateData(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[PartitionData] = wire.array(PartitionData, "0+", default_factory=list)


@wire.message(api_key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateRequest(wire.Message):
    group_id: str = wire.string("0+", default="")
    topics: list[WriteStateData] = wire.array(WriteStateData, "0+", default_factory=list)


@wire.struct
class PartitionResult(wire.Struct):
    partition: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)


@wire.struct
class WriteStateResult(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[PartitionResult] = wire.array(PartitionResult, "0+", default_factory=list)


@wire.message(api_key=85, versions="0-1", flexible="0+")
class WriteShareGroupStateResponse(wire.Message):
    results: list[WriteStateResult] = wire.array(WriteStateResult, "0+", default_factory=list)
