"""ShareGroupHeartbeat (API 76): a member of a share group stays a member and gets its partitions (KIP-932).

v0 early access, gone since Kafka 4.1 · v1 the same fields.
"""

from uuid import UUID

from ..codec import wire


@wire.message(api_key=76, versions="0-1", flexible="0+")
class ShareGroupHeartbeatRequest(wire.Message):
    group_id: str = wire.string("0+", default="")
    member_id: str = wire.string("0+", default="")
    member_epoch: int = wire.int32("0+", default=0)
    rack_id: str | None = wire.string("0+", nullable="0+", default=None)
    subscribed_topic_names: list[str] | None = wire.array(wire.STRING, "0+", nullable="0+", default=None)


@wire.struct
class TopicPartitions(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.struct
class Assignment(wire.Struct):
    topic_partitions: list[TopicPartitions] = wire.array(TopicPartitions, "0+", default_factory=list)


@wire.message(api_key=76, versions="0-1", flexible="0+")
class ShareGroupHeartbeatResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)
    member_id: str | None = wire.string("0+", nullable="0+", default=None)
    member_epoch: int = wire.int32("0+", default=0)
    heartbeat_interval_ms: int = wire.int32("0+", default=0)
    assignment: Assignment | None = wire.struct_field(Assignment, "0+", nullable="0+", default=None)
