"""Fetch (API 1): read record batches, as a consumer or as a follower.

Waits up to ``max_wait_ms`` for ``min_bytes``. Batches come as they are stored, so the first may begin before the offset
asked for and the last may be cut; at least one whole batch is sent even if it is larger than the limits allow.

- v1: throttle time. v2: message format 1 may be answered.
- v3: a limit for the whole response, and the order of partitions matters (KIP-74).
- v4: message format 2, isolation level, last stable offset and aborted transactions (KIP-98).
- v5: log start offset both ways, followers tell theirs (KIP-107). v6: KAFKA_STORAGE_ERROR may be answered (KIP-112).
- v7: sessions: only what changed is sent (KIP-227). v8: throttling happens after the response (KIP-219).
- v9: current leader epoch, for fencing (KIP-320). v10: zstd may be answered (KIP-110).
- v11: the consumer's rack, and a read replica it may prefer (KIP-392).
- v12: flexible; last fetched epoch, and the diverging epoch in the response (KIP-595).
- v13: topic ids in place of names (KIP-516). v14: OFFSET_MOVED_TO_TIERED_STORAGE may be answered (KIP-405).
- v15: a follower names itself and its broker epoch in a tagged field, replica id is gone (KIP-903).
- v16: addresses of new leaders (KIP-951). v17: the follower's log directory id (KIP-853). v18: a follower's
  high watermark in a tagged field (KIP-1166), which is skipped as any unknown one.
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class ReplicaState(wire.Struct):
    replica_id: int = wire.int32("15+", default=-1)
    replica_epoch: int = wire.int64("15+", default=-1)


@wire.struct
class FetchPartition(wire.Struct):
    partition: int = wire.int32("0+", default=0)
    current_leader_epoch: int = wire.int32("9+", default=-1, ignorable=True)
    fetch_offset: int = wire.int64("0+", default=0)
    last_fetched_epoch: int = wire.int32("12+", default=-1)
    log_start_offset: int = wire.int64("5+", default=-1, ignorable=True)
    partition_max_bytes: int = wire.int32("0+", default=0)
    replica_directory_id: UUID = wire.uuid("17+", default=wire.NULL_UUID, tag=0, ignorable=True)


@wire.struct
class FetchTopic(wire.Struct):
    topic: str = wire.string("0-12", default="", ignorable=True)
    topic_id: UUID = wire.uuid("13+", default=wire.NULL_UUID, ignorable=True)
    partitions: list[FetchPartition] = wire.array(FetchPartition, "0+", default_factory=list)


@wire.struct
class ForgottenTopic(wire.Struct):
    topic: str = wire.string("7-12", default="", ignorable=True)
    topic_id: UUID = wire.uuid("13+", default=wire.NULL_UUID, ignorable=True)
    partitions: list[int] = wire.array(wire.INT32, "7+", default_factory=list)


@wire.message(api_key=1, versions="0-18", flexible="12+")
class FetchRequest(wire.Message):
    cluster_id: str | None = wire.string("12+", nullable="12+", default=None, tag=0, ignorable=True)
    replica_id: int = wire.int32("0-14", default=-1)
    replica_state: ReplicaState = wire.struct_field(ReplicaState, "15+", default_factory=ReplicaState, tag=1)
    max_wait_ms: int = wire.int32("0+", default=0)
    min_bytes: int = wire.int32("0+", default=0)
    max_bytes: int = wire.int32("3+", default=0x7FFFFFFF, ignorable=True)
    isolation_level: int = wire.int8("4+", default=0, ignorable=True)
    session_id: int = wire.int32("7+", default=0, ignorable=True)
    session_epoch: int = wire.int32("7+", default=-1, ignorable=True)
    topics: list[FetchTopic] = wire.array(FetchTopic, "0+", default_factory=list)
    forgotten_topics_data: list[ForgottenTopic] = wire.array(ForgottenTopic, "7+", default_factory=list)
    rack_id: str = wire.string("11+", default="", ignorable=True)


@wire.struct
class EpochEndOffset(wire.Struct):
    epoch: int = wire.int32("12+", default=-1)
    end_offset: int = wire.int64("12+", default=-1)


@wire.struct
class LeaderIdAndEpoch(wire.Struct):
    leader_id: int = wire.int32("12+", default=-1)
    leader_epoch: int = wire.int32("12+", default=-1)


@wire.struct
class SnapshotId(wire.Struct):
    end_offset: int = wire.int64("0+", default=-1)
    epoch: int = wire.int32("0+", default=-1)


@wire.struct
class AbortedTransaction(wire.Struct):
    producer_id: int = wire.int64("4+", default=0)
    first_offset: int = wire.int64("4+", default=0)


@wire.struct
class PartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    high_watermark: int = wire.int64("0+", default=0)
    last_stable_offset: int = wire.int64("4+", default=-1, ignorable=True)
    log_start_offset: int = wire.int64("5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = wire.struct_field(EpochEndOffset, "12+", default_factory=EpochEndOffset, tag=0)
    current_leader: LeaderIdAndEpoch = wire.struct_field(
        LeaderIdAndEpoch, "12+", default_factory=LeaderIdAndEpoch, tag=1
    )
    snapshot_id: SnapshotId = wire.struct_field(SnapshotId, "12+", default_factory=SnapshotId, tag=2)
    aborted_transactions: list[AbortedTransaction] | None = wire.array(
        AbortedTransaction, "4+", nullable="4+", default_factory=list, ignorable=True
    )
    preferred_read_replica: int = wire.int32("11+", default=-1)
    records: wire.Records | None = wire.records("0+", nullable="0+", default=None)


@wire.struct
class FetchableTopicResponse(wire.Struct):
    topic: str = wire.string("0-12", default="", ignorable=True)
    topic_id: UUID = wire.uuid("13+", default=wire.NULL_UUID, ignorable=True)
    partitions: list[PartitionData] = wire.array(PartitionData, "0+", default_factory=list)


@wire.struct
class NodeEndpoint(wire.Struct):
    node_id: int = wire.int32("16+", default=0)
    host: str = wire.string("16+", default="")
    port: int = wire.int32("16+", default=0)
    rack: str | None = wire.string("16+", nullable="16+", default=None)


@wire.message(api_key=1, versions="0-18", flexible="12+")
class FetchResponse(wire.Message):
    throttle_time_ms: int = wire.int32("1+", default=0, ignorable=True)
    error_code: int = wire.int16("7+", default=0, ignorable=True)
    session_id: int = wire.int32("7+", default=0)
    responses: list[FetchableTopicResponse] = wire.array(FetchableTopicResponse, "0+", default_factory=list)
    node_endpoints: list[NodeEndpoint] = wire.array(NodeEndpoint, "16+", default_factory=list, tag=0)
