"""CreateTopics (API 19): create topics, by counts or by a given assignment. Served by the controller.

- v1: validate only; an error message per topic (KIP-4). v2: throttle time.
- v3: throttling happens after the response (KIP-219).
- v4: -1 asks for the broker's default partitions and replication factor (KIP-464).
- v5: flexible; the topic's shape and configuration in the response (KIP-525).
- v6: THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599). v7: topic ids in the response (KIP-516).
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class CreatableReplicaAssignment(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    broker_ids: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.struct
class CreatableTopicConfig(wire.Struct):
    name: str = wire.string("0+", default="")
    value: str | None = wire.string("0+", nullable="0+", default="")


@wire.struct
class CreatableTopic(wire.Struct):
    name: str = wire.string("0+", default="")
    num_partitions: int = wire.int32("0+", default=0)
    replication_factor: int = wire.int16("0+", default=0)
    assignments: list[CreatableReplicaAssignment] = wire.array(CreatableReplicaAssignment, "0+", default_factory=list)
    configs: list[CreatableTopicConfig] = wire.array(CreatableTopicConfig, "0+", default_factory=list)


@wire.message(api_key=19, versions="0-7", flexible="5+")
class CreateTopicsRequest(wire.Message):
    topics: list[CreatableTopic] = wire.array(CreatableTopic, "0+", default_factory=list)
    timeout_ms: int = wire.int32("0+", default=60000)
    validate_only: bool = wire.boolean("1+", default=False)


@wire.struct
class CreatableTopicConfigs(wire.Struct):
    name: str = wire.string("5+", default="")
    value: str | None = wire.string("5+", nullable="5+", default="")
    read_only: bool = wire.boolean("5+", default=False)
    config_source: int = wire.int8("5+", default=-1, ignorable=True)
    is_sensitive: bool = wire.boolean("5+", default=False)


@wire.struct
class CreatableTopicResult(wire.Struct):
    name: str = wire.string("0+", default="")
    topic_id: UUID = wire.uuid("7+", default=wire.NULL_UUID, ignorable=True)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("1+", nullable="0+", default="", ignorable=True)
    topic_config_error_code: int = wire.int16("5+", default=0, tag=0, ignorable=True)
    num_partitions: int = wire.int32("5+", default=-1, ignorable=True)
    replication_factor: int = wire.int16("5+", default=-1, ignorable=True)
    configs: list[CreatableTopicConfigs] | None = wire.array(
        CreatableTopicConfigs, "5+", nullable="5+", default_factory=list, ignorable=True
    )


@wire.message(api_key=19, versions="0-7", flexible="5+")
class CreateTopicsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("2+", default=0, ignorable=True)
    topics: list[CreatableTopicResult] = wire.array(CreatableTopicResult, "0+", default_factory=list)
