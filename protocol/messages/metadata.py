"""Metadata (API 3): brokers, topics, partitions and their leaders.

- v0: an empty list means all topics. v1: null means all topics, and an empty list none; racks, controller id, whether a
  topic is internal. v2: cluster id (KIP-78). v3: throttle time. v4: whether a missing topic may be created.
- v5: offline replicas (KIP-112). v6: throttling happens after the response (KIP-219). v7: leader epochs (KIP-320).
- v8: authorized operations on request (KIP-430). v9: flexible. v10: topic ids (KIP-516), which a request can use from
  v12 on only. v11: authorized operations of the cluster moved to DescribeCluster (KIP-700). v12: topics by id.
- v13: an error code for the whole response (KIP-1102).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class MetadataRequestTopic(wire.Struct):
    topic_id: UUID = wire.uuid("10+", default=wire.NULL_UUID, ignorable=True)
    name: str | None = wire.string("0+", nullable="10+", default="")


@wire.message(api_key=3, versions="0-13", flexible="9+")
class MetadataRequest(wire.Message):
    topics: list[MetadataRequestTopic] | None = wire.array(
        MetadataRequestTopic, "0+", nullable="1+", default_factory=list
    )
    allow_auto_topic_creation: bool = wire.boolean("4+", default=True)
    include_cluster_authorized_operations: bool = wire.boolean("8-10", default=False)
    include_topic_authorized_operations: bool = wire.boolean("8+", default=False)


@wire.struct
class MetadataResponseBroker(wire.Struct):
    node_id: int = wire.int32("0+", default=0)
    host: str = wire.string("0+", default="")
    port: int = wire.int32("0+", default=0)
    rack: str | None = wire.string("1+", nullable="1+", default=None, ignorable=True)


@wire.struct
class MetadataResponsePartition(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    partition_index: int = wire.int32("0+", default=0)
    leader_id: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("7+", default=-1, ignorable=True)
    replica_nodes: list[int] = wire.array(wire.INT32, "0+", default_factory=list)
    isr_nodes: list[int] = wire.array(wire.INT32, "0+", default_factory=list)
    offline_replicas: list[int] = wire.array(wire.INT32, "5+", default_factory=list, ignorable=True)


@wire.struct
class MetadataResponseTopic(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    name: str | None = wire.string("0+", nullable="12+", default="")
    topic_id: UUID = wire.uuid("10+", default=wire.NULL_UUID, ignorable=True)
    is_internal: bool = wire.boolean("1+", default=False, ignorable=True)
    partitions: list[MetadataResponsePartition] = wire.array(MetadataResponsePartition, "0+", default_factory=list)
    topic_authorized_operations: int = wire.int32("8+", default=-2147483648)


@wire.message(api_key=3, versions="0-13", flexible="9+")
class MetadataResponse(wire.Message):
    throttle_time_ms: int = wire.int32("3+", default=0, ignorable=True)
    brokers: list[MetadataResponseBroker] = wire.array(MetadataResponseBroker, "0+", default_factory=list)
    cluster_id: str | None = wire.string("2+", nullable="2+", default=None, ignorable=True)
    controller_id: int = wire.int32("1+", default=-1, ignorable=True)
    topics: list[MetadataResponseTopic] = wire.array(MetadataResponseTopic, "0+", default_factory=list)
    cluster_authorized_operations: int = wire.int32("8-10", default=-2147483648)
    error_code: int = wire.int16("13+", default=0, ignorable=True)
