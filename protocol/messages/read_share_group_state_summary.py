"""ReadShareGroupStateSummary (API 87): the start offsets of a share group's partitions, without the rest (KIP-932).

v1 brings the leader epoch, which Kafka 4 sends in v0 too, and the number of offsets whose delivery is complete
(KIP-1226). Unstable in 3.9, so it is not advertised.
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class PartitionData(wire.Struct):
    partition: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)


@wire.struct
class ReadStateSummaryData(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[PartitionData] = wire.array(PartitionData, "0+", default_factory=list)


@wire.message(api_key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryRequest(wire.Message):
    group_id: str = wire.string("0+", default="")
    topics: list[ReadStateSummaryData] = wire.array(ReadStateSummaryData, "0+", default_factory=list)


@wire.struct
class PartitionResult(wire.Struct):
    partition: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)
    state_epoch: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("1+", default=0, ignorable=True)
    start_offset: int = wire.int64("0+", default=0)
    delivery_complete_count: int = wire.int32("1+", default=-1, ignorable=True)


@wire.struct
class ReadStateSummaryResult(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[PartitionResult] = wire.array(PartitionResult, "0+", default_factory=list)


@wire.message(api_key=87, versions="0-1", flexible="0+")
class ReadShareGroupStateSummaryResponse(wire.Message):
    results: list[ReadStateSummaryResult] = wire.array(ReadStateSummaryResult, "0+", default_factory=list)
