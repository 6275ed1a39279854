"""ShareAcknowledge (API 79): accept, release or reject records that were acquired (KIP-932).

Version 0 was unstable and is gone in Kafka 4.1; it is never served. Version 2 renews locks (KIP-1222).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class AcknowledgementBatch(wire.Struct):
    first_offset: int = wire.int64("0+", default=0)
    last_offset: int = wire.int64("0+", default=0)
    acknowledge_types: list[int] = wire.array(wire.INT8, "0+", default_factory=list)


@wire.struct
class AcknowledgePartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    acknowledgement_batches: list[AcknowledgementBatch] = wire.array(AcknowledgementBatch, "0+", default_factory=list)


@wire.struct
class AcknowledgeTopic(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[AcknowledgePartition] = wire.array(AcknowledgePartition, "0+", default_factory=list)


@wire.message(api_key=79, versions="0-2", flexible="0+")
class ShareAcknowledgeRequest(wire.Message):
    group_id: str | None = wire.string("0+", nullable="0+", default=None)
    member_id: str | None = wire.string("0+", nullable="0+", default="")
    share_session_epoch: int = wire.int32("0+", default=0)
    is_renew_ack: bool = wire.boolean("2+", default=False)
    topics: list[AcknowledgeTopic] = wire.array(AcknowledgeTopic, "0+", default_factory=list)


@wire.struct
class LeaderIdAndEpoch(wire.Struct):
    leader_id: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)


@wire.struct
class PartitionData(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)
    current_leader: LeaderIdAndEpoch = wire.struct_field(LeaderIdAndEpoch, "0+", default_factory=LeaderIdAndEpoch)


@wire.struct
class ShareAcknowledgeTopicResponse(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID, ignorable=True)
    partitions: list[PartitionData] = wire.array(PartitionData, "0+", default_factory=list)


@wire.struct
class NodeEndpoint(wire.Struct):
    node_id: int = wire.int32("0+", default=0)
    host: str = wire.string("0+", default="")
    port: int = wire.int32("0+", default=0)
    rack: str | None = wire.string("0+", nullable="0+", default=None)


@wire.message(api_key=79, versions="0-2", flexible="0+")
class ShareAcknowledgeResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0, ignorable=True)
    error_code: int = wire.int16("0+", default=0, ignorable=True)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)
    acquisition_lock_timeout_ms: int = wire.int32("2+", default=0, ignorable=True)
    responses: list[ShareAcknowledgeTopicResponse] = wire.array(
        ShareAcknowledgeTopicResponse, "0+", default_factory=list
    )
    node_endpoints: list[NodeEndpoint] = wire.array(NodeEndpoint, "0+", default_factory=list)
