"""AlterPartitionReassignments (API 45): begin, change or (with null) cancel reassignments of partitions (KIP-455).

- v1: whether the number of replicas may change (KIP-860).
"""

from ..codec import wire


@wire.struct
class ReassignablePartition(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    replicas: list[int] | None = wire.array(wire.INT32, "0+", nullable="0+", default=None)


@wire.struct
class ReassignableTopic(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[ReassignablePartition] = wire.array(ReassignablePartition, "0+", default_factory=list)


@wire.message(api_key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsRequest(wire.Message):
    timeout_ms: int = wire.int32("0+", default=60000)
    allow_replication_factor_change: bool = wire.boolean("1+", default=True)
    topics: list[ReassignableTopic] = wire.array(ReassignableTopic, "0+", default_factory=list)


@wire.struct
class ReassignablePartitionResponse(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")


@wire.struct
class ReassignableTopicResponse(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[ReassignablePartitionResponse] = wire.array(
        ReassignablePartitionResponse, "0+", default_factory=list
    )


@wire.message(api_key=45, versions="0-1", flexible="0+")
class AlterPartitionReassignmentsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    allow_replication_factor_change: bool = wire.boolean("1+", default=True, ignorable=True)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    responses: list[ReassignableTopicResponse] = wire.array(ReassignableTopicResponse, "0+", default_factory=list)
