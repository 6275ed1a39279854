"""DescribeProducers (API 61): the active producers of a partition, as its leader knows them (KIP-664)."""

from ..codec import wire


@wire.struct
class TopicRequest(wire.Struct):
    name: str = wire.string("0+", default="")
    partition_indexes: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.message(api_key=61, versions="0", flexible="0+")
class DescribeProducersRequest(wire.Message):
    topics: list[TopicRequest] = wire.array(TopicRequest, "0+", default_factory=list)


@wire.struct
class ProducerState(wire.Struct):
    producer_id: int = wire.int64("0+", default=0)
    producer_epoch: int = wire.int32("0+", default=0)
    last_sequence: int = wire.int32("0+", default=-1)
    last_timestamp: int = wire.int64("0+", default=-1)
    coordinator_epoch: int = wire.int32("0+", default=0)
    current_txn_start_offset: int = wire.int64("0+", default=-1)


@wire.struct
class PartitionResponse(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)
    active_producers: list[ProducerState] = wire.array(ProducerState, "0+", default_factory=list)


@wire.struct
class TopicResponse(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[PartitionResponse] = wire.array(PartitionResponse, "0+", default_factory=list)


@wire.message(api_key=61, versions="0", flexible="0+")
class DescribeProducersResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    topics: list[TopicResponse] = wire.array(TopicResponse, "0+", default_factory=list)
