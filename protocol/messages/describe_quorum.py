"""DescribeQuorum (API 55): leader, voters and observers of the KRaft quorum (KIP-595).

- v1: when replicas last fetched and last caught up (KIP-836).
- v2: error messages, directory ids, and the nodes with their addresses (KIP-853).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class RequestPartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)


@wire.struct
class RequestTopicData(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partitions: list[RequestPartitionData] = wire.array(RequestPartitionData, "0+", default_factory=list)


@wire.message(api_key=55, versions="0-2", flexible="0+")
class DescribeQuorumRequest(wire.Message):
    topics: list[RequestTopicData] = wire.array(RequestTopicData, "0+", default_factory=list)


@wire.struct
class ReplicaState(wire.Struct):
    replica_id: int = wire.int32("0+", default=0)
    replica_directory_id: UUID = wire.uuid("2+", default=wire.NULL_UUID)
    log_end_offset: int = wire.int64("0+", default=0)
    last_fetch_timestamp: int = wire.int64("1+", default=-1, ignorable=True)
    last_caught_up_timestamp: int = wire.int64("1+", default=-1, ignorable=True)


@wire.struct
class ResponsePartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("2+", nullable="2+", default="", ignorable=True)
    leader_id: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)
    high_watermark: int = wire.int64("0+", default=0)
    current_voters: list[ReplicaState] = wire.array(ReplicaState, "0+", default_factory=list)
    observers: list[ReplicaState] = wire.array(ReplicaState, "0+", default_factory=list)


@wire.struct
class ResponseTopicData(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partitions: list[ResponsePartitionData] = wire.array(ResponsePartitionData, "0+", default_factory=list)


@wire.struct
class Listener(wire.Struct):
    name: str = wire.string("2+", default="")
    host: str = wire.string("2+", default="")
    port: int = wire.uint16("2+", default=0)


@wire.struct
class Node(wire.Struct):
    node_id: int = wire.int32("2+", default=0)
    listeners: list[Listener] = wire.array(Listener, "2+", default_factory=list)


@wire.message(api_key=55, versions="0-2", flexible="0+")
class DescribeQuorumResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("2+", nullable="2+", default="", ignorable=True)
    topics: list[ResponseTopicData] = wire.array(ResponseTopicData, "0+", default_factory=list)
    nodes: list[Node] = wire.array(Node, "2+", default_factory=list)
