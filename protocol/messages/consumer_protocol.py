"""Consumer protocol."""

from ..codec import wire


@wire.struct
class SubscriptionTopicPartition(wire.Struct):
    topic: str = wire.string("1+", default="")
    partitions: list[int] = wire.array(wire.INT32, "1+", default_factory=list)


@wire.message(versions="0-3", flexible="none")
class ConsumerProtocolSubscription(wire.Message):
    topics: list[str] = wire.array(wire.STRING, "0+", default_factory=list)
    user_data: bytes | None = wire.blob("0+", nullable="0+", default=None)
    owned_partitions: list[SubscriptionTopicPartition] = wire.array(
        SubscriptionTopicPartition, "1+", default_factory=list, ignorable=True
    )
    generation_id: int = wire.int32("2+", default=-1, ignorable=True)
    rack_id: str | None = wire.string("3+", nullable="3+", default=None, ignorable=True)


@wire.struct
class AssignmentTopicPartition(wire.Struct):
    topic: str = wire.string("0+", default="")
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.message(versions="0-3", flexible="none")
class ConsumerProtocolAssignment(wire.Message):
    assigned_partitions: list[AssignmentTopicPartition] = wire.array(
        AssignmentTopicPartition, "0+", default_factory=list
    )
    user_data: bytes | None = wire.blob("0+", nullable="0+", default=None)
