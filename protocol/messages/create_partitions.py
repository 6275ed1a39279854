"""CreatePartitions (API 37): give topics more partitions (KIP-195). Served by the controller.

- v1: throttling happens after the response (KIP-219). v2: flexible.
- v3: THROTTLING_QUOTA_EXCEEDED may be answered (KIP-599).
"""

from ..codec import wire


@wire.struct
class CreatePartitionsAssignment(wire.Struct):
    broker_ids: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.struct
class CreatePartitionsTopic(wire.Struct):
    name: str = wire.string("0+", default="")
    count: int = wire.int32("0+", default=0)
    assignments: list[CreatePartitionsAssignment] | None = wire.array(
        CreatePartitionsAssignment, "0+", nullable="0+", default_factory=list
    )


@wire.message(api_key=37, versions="0-3", flexible="2+")
class CreatePartitionsRequest(wire.Message):
    topics: list[CreatePartitionsTopic] = wire.array(CreatePartitionsTopic, "0+", default_factory=list)
    timeout_ms: int = wire.int32("0+", default=0)
    validate_only: bool = wire.boolean("0+", default=False)


@wire.struct
class CreatePartitionsTopicResult(wire.Struct):
    name: str = wire.string("0+", default="")
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)


@wire.message(api_key=37, versions="0-3", flexible="2+")
class CreatePartitionsResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    results: list[CreatePartitionsTopicResult] = wire.array(CreatePartitionsTopicResult, "0+", default_factory=list)
