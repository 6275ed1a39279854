"""AssignReplicasToDirs (API 73): a broker tells the KRaft controller which directory holds which replica (KIP-858)."""

from uuid import UUID

from ..codec import wire


@wire.struct
class RequestPartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)


@wire.struct
class RequestTopicData(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[RequestPartitionData] = wire.array(RequestPartitionData, "0+", default_factory=list)


@wire.struct
class RequestDirectoryData(wire.Struct):
    id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    topics: list[RequestTopicData] = wire.array(RequestTopicData, "0+", default_factory=list)


@wire.message(api_key=73, versions="0", flexible="0+")
class AssignReplicasToDirsRequest(wire.Message):
    broker_id: int = wire.int32("0+", default=0)
    broker_epoch: int = wire.int64("0+", default=-1)
    directories: list[RequestDirectoryData] = wire.array(RequestDirectoryData, "0+", default_factory=list)


@wire.struct
class ResponsePartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)


@wire.struct
class ResponseTopicData(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[ResponsePartitionData] = wire.array(ResponsePartitionData, "0+", default_factory=list)


@wire.struct
class ResponseDirectoryData(wire.Struct):
    id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    topics: list[ResponseTopicData] = wire.array(ResponseTopicData, "0+", default_factory=list)


@wire.message(api_key=73, versions="0", flexible="0+")
class AssignReplicasToDirsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    directories: list[ResponseDirectoryData] = wire.array(ResponseDirectoryData, "0+", default_factory=list)
