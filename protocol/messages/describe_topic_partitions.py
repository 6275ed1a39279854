"""DescribeTopicPartitions (API 75): partitions of topics, page by page with a cursor (KIP-966).

Kafka does not offer it in ZooKeeper mode.
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class TopicRequest(wire.Struct):
    name: str = wire.string("0+", default="")


@wire.struct
class RequestCursor(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partition_index: int = wire.int32("0+", default=0)


@wire.message(api_key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsRequest(wire.Message):
    topics: list[TopicRequest] = wire.array(TopicRequest, "0+", default_factory=list)
    response_partition_limit: int = wire.int32("0+", default=2000)
    cursor: RequestCursor | None = wire.struct_field(RequestCursor, "0+", nullable="0+", default=None)


@wire.struct
class DescribeTopicPartitionsResponsePartition(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    partition_index: int = wire.int32("0+", default=0)
    leader_id: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=-1, ignorable=True)
    replica_nodes: list[int] = wire.array(wire.INT32, "0+", default_factory=list)
    isr_nodes: list[int] = wire.array(wire.INT32, "0+", default_factory=list)
    eligible_leader_replicas: list[int] | None = wire.array(wire.INT32, "0+", nullable="0+", default=None)
    last_known_elr: list[int] | None = wire.array(wire.INT32, "0+", nullable="0+", default=None)
    offline_replicas: list[int] = wire.array(wire.INT32, "0+", default_factory=list, ignorable=True)


@wire.struct
class DescribeTopicPartitionsResponseTopic(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    name: str | None = wire.string("0+", nullable="0+", default="")
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID, ignorable=True)
    is_internal: bool = wire.boolean("0+", default=False, ignorable=True)
    partitions: list[DescribeTopicPartitionsResponsePartition] = wire.array(
        DescribeTopicPartitionsResponsePartition, "0+", default_factory=list
    )
    topic_authorized_operations: int = wire.int32("0+", default=-2147483648)


@wire.struct
class ResponseCursor(wire.Struct):
    topic_name: str = wire.string("0+", default="")
    partition_index: int = wire.int32("0+", default=0)


@wire.message(api_key=75, versions="0", flexible="0+")
class DescribeTopicPartitionsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0, ignorable=True)
    topics: list[DescribeTopicPartitionsResponseTopic] = wire.array(
        DescribeTopicPartitionsResponseTopic, "0+", default_factory=list
    )
    next_cursor: ResponseCursor | None = wire.struct_field(ResponseCursor, "0+", nullable="0+", default=None)
