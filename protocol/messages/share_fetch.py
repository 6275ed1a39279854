"""ShareFetch (API 78): acquire records for a member of a share group, and acknowledge earlier ones (KIP-932).

Version 0 was unstable and is gone in Kafka 4.1; it is never served. Version 1 has the numbers of records in place of
the bytes of each partition. Version 2 has acquire modes and renewed locks (KIP-1206, KIP-1222).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class AcknowledgementBatch(wire.Struct):
    first_offset: int = wire.int64("0+", default=0)
    last_offset: int = wire.int64("0+", default=0)
    acknowledge_types: list[int] = wire.array(wire.INT8, "0+", default_factory=list)


@wire.struct
class FetchPartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    partition_max_bytes: int = wire.int32("0", default=0)
    acknowledgement_batches: list[AcknowledgementBatch] = wire.array(AcknowledgementBatch, "0+", default_factory=list)


@wire.struct
class FetchTopic(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID, ignorable=True)
    partitions: list[FetchPartition] = wire.array(FetchPartition, "0+", default_factory=list)


@wire.struct
class ForgottenTopic(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID, ignorable=True)
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.message(api_key=78, versions="0-2", flexible="0+")
class ShareFetchRequest(wire.Message):
    group_id: str | None = wire.string("0+", nullable="0+", default=None)
    member_id: str | None = wire.string("0+", nullable="0+", default="")
    share_session_epoch: int = wire.int32("0+", default=0)
    max_wait_ms: int = wire.int32("0+", default=0)
    min_bytes: int = wire.int32("0+", default=0)
    max_bytes: int = wire.int32("0+", default=0x7FFFFFFF, ignorable=True)
    max_records: int = wire.int32("1+", default=0)
    batch_size: int = wire.int32("1+", default=0)
    share_acquire_mode: int = wire.int8("2+", default=0, ignorable=True)
    is_renew_ack: bool = wire.boolean("2+", default=False)
    topics: list[FetchTopic] = wire.array(FetchTopic, "0+", default_factory=list)
    forgotten_topics_data: list[ForgottenTopic] = wire.array(ForgottenTopic, "0+", default_factory=list)


@wire.struct
class LeaderIdAndEpoch(wire.Struct):
    leader_id: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)


@wire.struct
class AcquiredRecords(wire.Struct):
    first_offset: int = wire.int64("0+", default=0)
    last_offset: int = wire.int64("0+", default=0)
    delivery_count: int = wire.int16("0+", default=0)


@wire.struct
class PartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)
    acknowledge_error_code: int = wire.int16("0+", default=0)
    acknowledge_error_message: str | None = wire.string("0+", nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = wire.struct_field(LeaderIdAndEpoch, "0+", default_factory=LeaderIdAndEpoch)
    records: wire.Records | None = wire.records("0+", nullable="0", default=None)
    acquired_records: list[AcquiredRecords] = wire.array(AcquiredRecords, "0+", default_factory=list)


@wire.struct
class ShareFetchableTopicResponse(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID, ignorable=True)
    partitions: list[PartitionData] = wire.array(PartitionData, "0+", default_factory=list)


@wire.struct
class NodeEndpoint(wire.Struct):
    node_id: int = wire.int32("0+", default=0)
    host: str = wire.string("0+", default="")
    port: int = wire.int32("0+", default=0)
    rack: str | None = wire.string("0+", nullable="0+", default=None)


@wire.message(api_key=78, versions="0-2", flexible="0+")
class ShareFetchResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0, ignorable=True)
    error_code: int = wire.int16("0+", default=0, ignorable=True)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)
    acquisition_lock_timeout_ms: int = wire.int32("1+", default=0)
    responses: list[ShareFetchableTopicResponse] = wire.array(ShareFetchableTopicResponse, "0+", default_factory=list)
    node_endpoints: list[NodeEndpoint] = wire.array(NodeEndpoint, "0+", default_factory=list)
