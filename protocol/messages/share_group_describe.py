"""ShareGroupDescribe (API 77): state, members and assignments of share groups (KIP-932).

v0 early access, gone since Kafka 4.1 · v1 the same fields.
"""

from uuid import UUID

from ..codec import wire


@wire.message(api_key=77, versions="0-1", flexible="0+")
class ShareGroupDescribeRequest(wire.Message):
    group_ids: list[str] = wire.array(wire.STRING, "0+", default_factory=list)
    include_authorized_operations: bool = wire.boolean("0+", default=False)


@wire.struct
class TopicPartitions(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    topic_name: str = wire.string("0+", default="")
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.struct
class Assignment(wire.Struct):
    topic_partitions: list[TopicPartitions] = wire.array(TopicPartitions, "0+", default_factory=list)


@wire.struct
class Member(wire.Struct):
    member_id: str = wire.string("0+", default="")
    rack_id: str | None = wire.string("0+", nullable="0+", default=None)
    member_epoch: int = wire.int32("0+", default=0)
    client_id: str = wire.string("0+", default="")
    client_host: str = wire.string("0+", default="")
    subscribed_topic_names: list[str] = wire.array(wire.STRING, "0+", default_factory=list)
    assignment: Assignment = wire.struct_field(Assignment, "0+", default_factory=Assignment)


@wire.struct
class DescribedGroup(wire.Struct):
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default=None)
    group_id: str = wire.string("0+", default="")
    group_state: str = wire.string("0+", default="")
    group_epoch: int = wire.int32("0+", default=0)
    assignment_epoch: int = wire.int32("0+", default=0)
    assignor_name: str = wire.string("0+", default="")
    members: list[Member] = wire.array(Member, "0+", default_factory=list)
    authorized_operations: int = wire.int32("0+", default=-2147483648)


@wire.message(api_key=77, versions="0-1", flexible="0+")
class ShareGroupDescribeResponse(wire.Message):
    throttle_time_ms: int = wire.int32("0+", default=0)
    groups: list[DescribedGroup] = wire.array(DescribedGroup, "0+", default_factory=list)
