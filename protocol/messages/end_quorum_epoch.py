"""EndQuorumEpoch (API 54): a KRaft leader steps down and names its successors (KIP-595). Controllers only.

- v1: flexible; candidates with directory ids in place of successors, addresses of the leader (KIP-853).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class ReplicaInfo(wire.Struct):
    candidate_id: int = wire.int32("1+", default=0)
    candidate_directory_id: UUID = wire.uuid("1+", default=wire.NULL_UUID)


@wire.struct
class RequestPartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    leader_id: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)
    preferred_successors: list[int] = wire.array(wire.INT32, "0", default_factory=list, ignorable=True)
    preferred_candidates: list[ReplicaInfo] = wire.array(ReplicaInfo, "1+", default_factory=list, ignorable=True)


@wire.struct
class RequestTopicData(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partitions: list[RequestPartitionData] = wire.array(RequestPartitionData, "0+", default_factory=list)


@wire.struct
class LeaderEndpoint(wire.Struct):
    name: str = wire.string("1+", default="")
    host: str = wire.string("1+", default="")
    port: int = wire.uint16("1+", default=0)


@wire.message(api_key=54, versions="0-1", flexible="1+")
class EndQuorumEpochRequest(wire.Message):
    cluster_id: str | None = wire.string("0+", nullable="0+", default=None)
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


@wire.message(api_key=54, versions="0-1", flexible="1+")
class EndQuorumEpochResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    topics: list[ResponseTopicData] = wire.array(ResponseTopicData, "0+", default_factory=list)
    node_endpoints: list[NodeEndpoint] = wire.array(NodeEndpoint, "1+", default_factory=list, tag=0)
