"""UpdateMetadata (API 6): the controller tells a broker the state of the cluster, for its metadata cache.

- v1: several listeners for a broker. v2: racks. v3: names of listeners (KIP-103).
- v4: offline replicas (KIP-112). v5: broker epoch, partitions grouped by topic (KIP-380).
- v6: flexible. v7: topic ids (KIP-516).
- v8: whether the controller is a KRaft one, and whether the request replaces everything known (KIP-866).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class UpdateMetadataPartitionState(wire.Struct):
    topic_name: str = wire.string("0-4", default="", ignorable=True)
    partition_index: int = wire.int32("0+", default=0)
    controller_epoch: int = wire.int32("0+", default=0)
    leader: int = wire.int32("0+", default=0)
    leader_epoch: int = wire.int32("0+", default=0)
    isr: list[int] = wire.array(wire.INT32, "0+", default_factory=list)
    zk_version: int = wire.int32("0+", default=0)
    replicas: list[int] = wire.array(wire.INT32, "0+", default_factory=list)
    offline_replicas: list[int] = wire.array(wire.INT32, "4+", default_factory=list, ignorable=True)


@wire.struct
class UpdateMetadataTopicState(wire.Struct):
    topic_name: str = wire.string("5+", default="")
    topic_id: UUID = wire.uuid("7+", default=wire.NULL_UUID, ignorable=True)
    partition_states: list[UpdateMetadataPartitionState] = wire.array(
        UpdateMetadataPartitionState, "5+", default_factory=list
    )


@wire.struct
class UpdateMetadataEndpoint(wire.Struct):
    port: int = wire.int32("1+", default=0)
    host: str = wire.string("1+", default="")
    listener: str = wire.string("3+", default="", ignorable=True)
    security_protocol: int = wire.int16("1+", default=0)


@wire.struct
class UpdateMetadataBroker(wire.Struct):
    id: int = wire.int32("0+", default=0)
    v0_host: str = wire.string("0", default="", ignorable=True)
    v0_port: int = wire.int32("0", default=0, ignorable=True)
    endpoints: list[UpdateMetadataEndpoint] = wire.array(
        UpdateMetadataEndpoint, "1+", default_factory=list, ignorable=True
    )
    rack: str | None = wire.string("2+", nullable="0+", default="", ignorable=True)


@wire.message(api_key=6, versions="0-8", flexible="6+")
class UpdateMetadataRequest(wire.Message):
    controller_id: int = wire.int32("0+", default=0)
    is_kraft_controller: bool = wire.boolean("8+", default=False, kafka_name="isKRaftController")
    type: int = wire.int8("8+", default=0, tag=0)
    controller_epoch: int = wire.int32("0+", default=0)
    broker_epoch: int = wire.int64("5+", default=-1, ignorable=True)
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = wire.array(
        UpdateMetadataPartitionState, "0-4", default_factory=list
    )
    topic_states: list[UpdateMetadataTopicState] = wire.array(UpdateMetadataTopicState, "5+", default_factory=list)
    live_brokers: list[UpdateMetadataBroker] = wire.array(UpdateMetadataBroker, "0+", default_factory=list)


@wire.message(api_key=6, versions="0-8", flexible="6+")
class UpdateMetadataResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
