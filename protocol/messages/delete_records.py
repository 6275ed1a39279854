"""DeleteRecords (API 21): move the log start offset forward; -1 stands for the high watermark (KIP-107).

Answered when all live replicas have followed, or the timeout is over.

- v1: throttling happens after the response (KIP-219). v2: flexible.
"""

from ..codec import wire


@wire.struct
class DeleteRecordsPartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    offset: int = wire.int64("0+", default=0)


@wire.struct
class DeleteRecordsTopic(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[DeleteRecordsPartition] = wire.array(DeleteRecordsPartition, "0+", default_factory=list)


@wire.message(api_key=21, versions="0-2", flexible="2+")
class DeleteRecordsRequest(wire.Message):
    topics: list[DeleteRecordsTopic] = wire.array(DeleteRecordsTopic, "0+", default_factory=list)
    timeout_ms: int = wire.int32("0+", default=0)


@wire.struct
class DeleteRecordsPartitionResult(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    low_watermark: int = wire.int64("0+", default=0)
    error_code: int = wire.int16("0+", default=0)


@wire.struct
class DeleteRecordsTopicResult(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[DeleteRecordsPartitionResult] = wire.array(
        DeleteRecordsPartitionResult, "0+", default_factory=list
    )


@wire.message(api_key=21, versions="0-2", flexible="2+")
class DeleteRecordsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    topics: list[DeleteRecordsTopicResult] = wire.array(DeleteRecordsTopicResult, "0+", default_factory=list)
