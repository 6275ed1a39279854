"""ElectLeaders (API 43): elect leaders of partitions; null stands for all (KIP-183). Served by the controller.

- v0: preferred leaders. v1: a type of election, preferred or unclean; an error code for all (KIP-460). v2: flexible.
"""

from ..codec import wire


@wire.struct
class TopicPartitions(wire.Struct):
    topic: str = wire.string("0+", default="")
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.message(api_key=43, versions="0-2", flexible="2+")
class ElectLeadersRequest(wire.Message):
    election_type: int = wire.int8("1+", default=0)
    topic_partitions: list[TopicPartitions] | None = wire.array(
        TopicPartitions, "0+", nullable="0+", default_factory=list
    )
    timeout_ms: int = wire.int32("0+", default=60000)


@wire.struct
class PartitionResult(wire.Struct):
    partition_id: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")


@wire.struct
class ReplicaElectionResult(wire.Struct):
    topic: str = wire.string("0+", default="")
    partition_result: list[PartitionResult] = wire.array(PartitionResult, "0+", default_factory=list)


@wire.message(api_key=43, versions="0-2", flexible="2+")
class ElectLeadersResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("1+", default=0)
    replica_election_results: list[ReplicaElectionResult] = wire.array(
        ReplicaElectionResult, "0+", default_factory=list
    )
