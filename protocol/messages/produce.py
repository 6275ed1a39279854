"""Produce (API 0): append record batches to partitions.

``acks=0``: no response; 1: after the leader's append; -1: when the high watermark has passed it.

- v1: throttle time. v2: log append time. v3: transactional id, exactly one batch of message format 2 (KIP-98). v4:
  KAFKA_STORAGE_ERROR (KIP-112). v5: log start offset, to tell deleted records from lost ones. v7: zstd (KIP-110). v8:
  wrong records of a refused batch (KIP-467). v9: flexible. v10: the new leader (KIP-951). v11: TRANSACTION_ABORTABLE,
  v12: the broker adds the partitions to the transaction (KIP-890). v13: topic ids in place of names (KIP-516).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class PartitionProduceData(wire.Struct):
    index: int = wire.int32("0+", default=0)
    records: wire.Records | None = wire.records("0+", nullable="0+", default=None)


@wire.struct
class TopicProduceData(wire.Struct):
    name: str = wire.string("0-12", default="", ignorable=True)
    topic_id: UUID = wire.uuid("13+", default=wire.NULL_UUID, ignorable=True)
    partition_data: list[PartitionProduceData] = wire.array(PartitionProduceData, "0+", default_factory=list)


@wire.message(api_key=0, versions="0-13", flexible="9+")
class ProduceRequest(wire.Message):
    transactional_id: str | None = wire.string("3+", nullable="3+", default=None)
    acks: int = wire.int16("0+", default=0)
    timeout_ms: int = wire.int32("0+", default=0)
    topic_data: list[TopicProduceData] = wire.array(TopicProduceData, "0+", default_factory=list)


@wire.struct
class BatchIndexAndErrorMessage(wire.Struct):
    batch_index: int = wire.int32("8+", default=0)
    batch_index_error_message: str | None = wire.string("8+", nullable="8+", default=None)


@wire.struct
class LeaderIdAndEpoch(wire.Struct):
    leader_id: int = wire.int32("10+", default=-1)
    leader_epoch: int = wire.int32("10+", default=-1)


@wire.struct
class PartitionProduceResponse(wire.Struct):
    index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    base_offset: int = wire.int64("0+", default=0)
    log_append_time_ms: int = wire.int64("2+", default=-1, ignorable=True)
    log_start_offset: int = wire.int64("5+", default=-1, ignorable=True)
    record_errors: list[BatchIndexAndErrorMessage] = wire.array(
        BatchIndexAndErrorMessage, "8+", default_factory=list, ignorable=True
    )
    error_message: str | None = wire.string("8+", nullable="8+", default=None, ignorable=True)
    current_leader: LeaderIdAndEpoch = wire.struct_field(
        LeaderIdAndEpoch, "10+", default_factory=LeaderIdAndEpoch, tag=0
    )


@wire.struct
class TopicProduceResponse(wire.Struct):
    name: str = wire.string("0-12", default="", ignorable=True)
    topic_id: UUID = wire.uuid("13+", default=wire.NULL_UUID, ignorable=True)
    partition_responses: list[PartitionProduceResponse] = wire.array(
        PartitionProduceResponse, "0+", default_factory=list
    )


@wire.struct
class NodeEndpoint(wire.Struct):
    node_id: int = wire.int32("10+", default=0)
    host: str = wire.string("10+", default="")
    port: int = wire.int32("10+", default=0)
    rack: str | None = wire.string("10+", nullable="10+", default=None)


@wire.message(api_key=0, versions="0-13", flexible="9+")
class ProduceResponse(wire.Message):
    responses: list[TopicProduceResponse] = wire.array(TopicProduceResponse, "0+", default_factory=list)
    throttle_time_ms: int = wire.int32("1+", default=0, ignorable=True)
    node_endpoints: list[NodeEndpoint] = wire.array(NodeEndpoint, "10+", default_factory=list, tag=0)
