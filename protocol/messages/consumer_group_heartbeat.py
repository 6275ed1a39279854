"""ConsumerGroupHeartbeat (API 68): the one request of the new consumer protocol (KIP-848).

A member sends its changes and receives its target assignment. The member epoch -1 leaves the group.
"""

from uuid import UUID

from ..codec import wire


@wire.struct
class RequestTopicPartitions(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.message(api_key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatRequest(wire.Message):
    group_id: str = wire.string("0+", default="")
    member_id: str = wire.string("0+", default="")
    member_epoch: int = wire.int32("0+", default=0)
    instance_id: str | None = wire.string("0+", nullable="0+", default=None)
    rack_id: str | None = wire.string("0+", nullable="0+", default=None)
    rebalance_timeout_ms: int = wire.int32("0+", default=-1)
    subscribed_topic_names: list[str] | None = wire.array(wire.STRING, "0+", nullable="0+", default=None)
    subscribed_topic_regex: str | None = wire.string("1+", nullable="1+", default=None)
    server_assignor: str | None = wire.string("0+", nullable="0+", default=None)
    topic_partitions: list[RequestTopicPartitions] | None = wire.array(
        RequestTopicPartitions, "0+", nullable="0+", default=None
    )


@wire.struct
class ResponseTopicPartitions(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.struct
class Assignment(wire.Struct):
    topic_partitions: list[ResponseTopicPartitions] = wire.array(ResponseTopicPartitions, "0+", default_factory=list)


@wire.message(api_key=68, versions="0-1", flexible="0+")
class ConsumerGroupHeartbeatResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)
    member_id: str | None = wire.string("0+", nullable="0+", default=None)
    member_epoch: int = wire.int32("0+", default=0)
    heartbeat_interval_ms: int = wire.int32("0+", default=0)
    assignment: Assignment | None = wire.struct_field(Assignment, "0+", nullable="0+", default=None)
