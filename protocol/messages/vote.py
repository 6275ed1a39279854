"""Vote (API 52): a candidate asks for a vote in KRaft's election (KIP-595). Controllers only.

- v1: voter keys and directory ids, addresses in the response (KIP-853).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class RequestPartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    candidate_epoch: int = wire.int32("0+", default=0)
    candidate_id: int = wire.int32("0+", default=0)
    candidate_directory_id: UUID = wire.uuid("1+", default=wire.NULL_UUID, ignorable=True)
    voter_directory_id: UUID = wire.uuid("1+", default=wire.NULL_UUID, ignorable=True)
    last_offset_epoch: int = wire.int32("0+", default=0)
    last_offset: int = wire.int64("0+", default=0)


@wire.struct
class RequestTopicData(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partitions: list[RequestPartitionData] = wire.array(RequestPartitionData, "0+", default_factory=list)


@wire.message(api_key=52, versions="0-1", flexible="0+")
class VoteRequest(wire.Message):
    cluster_id: str | None = wire.string("0+", nullable="0+", default=None)
    voter_id: int = wire.int32("1+", default=-1, ignorable=True)
    topics: list[RequestTopicData] = wire.array(RequestTopicData, "0+", default_factory=list)


@wire.struct
class ResponsePartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    leader_id: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)
    vote_granted: bool = wire.boolean("0+", default=False)


@wire.struct
class ResponseTopicData(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partitions: list[ResponsePartitionData] = wire.array(ResponsePartitionData, "0+", default_factory=list)


@wire.struct
class NodeEndpoint(wire.Struct):
    node_id: int = wire.int32("1+", default=0)
    host: str = wire.string("1+", default="")
    port: int = wire.uint16("1+", default=0)


@wire.message(api_key=52, versions="0-1", flexible="0+")
class VoteResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    topics: list[ResponseTopicData] = wire.array(ResponseTopicData, "0+", default_factory=list)
    node_endpoints: list[NodeEndpoint] = wire.array(NodeEndpoint, "1+", default_factory=list, tag=0)
