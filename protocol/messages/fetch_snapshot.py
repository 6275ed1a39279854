"""FetchSnapshot (API 59): read a piece of a KRaft snapshot (KIP-630). Controllers only.

The records of the response need not begin or end where a batch does.

- v1: the reader's directory id, addresses of the leader (KIP-853).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class RequestSnapshotId(wire.Struct):
    end_offset: int = wire.int64("0+", default=0)
    epoch: int = wire.int32("0+", default=0)


@wire.struct
class RequestPartitionSnapshot(wire.Struct):
    partition: int = wire.int32("0+", default=0)
    current_leader_epoch: int = wire.int32("0+", default=0)
    snapshot_id: RequestSnapshotId = wire.struct_field(RequestSnapshotId, "0+", default_factory=RequestSnapshotId)
    position: int = wire.int64("0+", default=0)
    replica_directory_id: UUID = wire.uuid("1+", default=wire.NULL_UUID, tag=0, ignorable=True)


@wire.struct
class RequestTopicSnapshot(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[RequestPartitionSnapshot] = wire.array(RequestPartitionSnapshot, "0+", default_factory=list)


@wire.message(api_key=59, versions="0-1", flexible="0+")
class FetchSnapshotRequest(wire.Message):
    cluster_id: str | None = wire.string("0+", nullable="0+", default=None, tag=0)
    replica_id: int = wire.int32("0+", default=-1)
    max_bytes: int = wire.int32("0+", default=0x7FFFFFFF)
    topics: list[RequestTopicSnapshot] = wire.array(RequestTopicSnapshot, "0+", default_factory=list)


@wire.struct
class ResponseSnapshotId(wire.Struct):
    end_offset: int = wire.int64("0+", default=0)
    epoch: int = wire.int32("0+", default=0)


@wire.struct
class LeaderIdAndEpoch(wire.Struct):
    leader_id: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)


@wire.struct
class ResponsePartitionSnapshot(wire.Struct):
    index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    snapshot_id: ResponseSnapshotId = wire.struct_field(ResponseSnapshotId, "0+", default_factory=ResponseSnapshotId)
    current_leader: LeaderIdAndEpoch = wire.struct_field(
        LeaderIdAndEpoch, "0+", default_factory=LeaderIdAndEpoch, tag=0
    )
    size: int = wire.int64("0+", default=0)
    position: int = wire.int64("0+", default=0)
    unaligned_records: wire.Records | None = wire.records("0+", default=None)


@wire.struct
class ResponseTopicSnapshot(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[ResponsePartitionSnapshot] = wire.array(ResponsePartitionSnapshot, "0+", default_factory=list)


@wire.struct
class NodeEndpoint(wire.Struct):
    node_id: int = wire.int32("1+", default=0)
    host: str = wire.string("1+", default="")
    port: int = wire.uint16("1+", default=0)


@wire.message(api_key=59, versions="0-1", flexible="0+")
class FetchSnapshotResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0, ignorable=True)
    error_code: int = wire.int16("0+", default=0)
    topics: list[ResponseTopicSnapshot] = wire.array(ResponseTopicSnapshot, "0+", default_factory=list)
    node_endpoints: list[NodeEndpoint] = wire.array(NodeEndpoint, "1+", default_factory=list, tag=0)
