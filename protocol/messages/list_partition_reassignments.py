"""ListPartitionReassignments (API 46): the reassignments under way; null asks for all topics (KIP-455)."""

from ..codec import wire


@wire.struct
class ListPartitionReassignmentsTopics(wire.Struct):
    name: str = wire.string("0+", default="")
    partition_indexes: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.message(api_key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsRequest(wire.Message):
    timeout_ms: int = wire.int32("0+", default=60000)
    topics: list[ListPartitionReassignmentsTopics] | None = wire.array(
        ListPartitionReassignmentsTopics, "0+", nullable="0+", default=None
    )


@wire.struct
class OngoingPartitionReassignment(wire.Struct):
    partition_index: int = wire.int32("0+", default=0)
    replicas: list[int] = wire.array(wire.INT32, "0+", default_factory=list)
    adding_replicas: list[int] = wire.array(wire.INT32, "0+", default_factory=list)
    removing_replicas: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.struct
class OngoingTopicReassignment(wire.Struct):
    name: str = wire.string("0+", default="")
    partitions: list[OngoingPartitionReassignment] = wire.array(
        OngoingPartitionReassignment, "0+", default_factory=list
    )


@wire.message(api_key=46, versions="0", flexible="0+")
class ListPartitionReassignmentsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    topics: list[OngoingTopicReassignment] = wire.array(OngoingTopicReassignment, "0+", default_factory=list)
