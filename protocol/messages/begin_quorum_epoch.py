"""BeginQuorumEpoch (API 53): a new KRaft leader makes itself known to the voters (KIP-595). Controllers only.

- v1: flexible; voter keys and the leader's addresses (KIP-853).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class RequestPartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    voter_directory_id: UUID = wire.uuid("1+", default=wire.NULL_UUID, ignorable=True)
    leader_id: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)


@wire.struct
class RequestTopicData(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partitions: list[RequestPartitionData] = wire.array(RequestPartitionData, "0+", default_factory=list)


@wire.struct
class LeaderEndpoint(wire.Struct):
    name: str = wire.string("1+", default="")
    host: str = wire.string("1+", default="")
    port: int = wire.uint16("1+", default=0)


@wire.message(api_key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochRequest(wire.Message):
    cluster_id: str | None = wire.string("0+", nullable="0+", default=None)
    voter_id: int = wire.int32("1+", default=-1, ignorable=True)
    topics: list[RequestTopicData] = wire.array(RequestTopicData, "0+", default_factory=list)
    leader_endpoints: list[LeaderEndpoint] = wire.array(LeaderEndpoint, "1+", default_factory=list, ignorable=True)


@wire.struct
class ResponsePartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    leader_id: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)


@wire.struct
class ResponseTopicData(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partitions: list[ResponsePartitionData] = wire.array(ResponsePartitionData, "0+", default_factory=list)


@wire.struct
class NodeEndpoint(wire.Struct):
    node_id: int = wire.int32("1+", default=0)
    host: str = wire.string("1+", default="")
    port: int = wire.uint16("1+", default=0)


@wire.message(api_key=53, versions="0-1", flexible="1+")
class BeginQuorumEpochResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    topics: list[ResponseTopicData] = wire.array(ResponseTopicData, "0+", default_factory=list)
    node_endpoints: list[NodeEndpoint] = wire.array(NodeEndpoint, "1+", default_factory=list, tag=0)
