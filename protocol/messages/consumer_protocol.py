"""The contents of JoinGroup metadata and SyncGroup assignments of consumers, opaque to the broker.

Each begins with its version as an int16. New versions only append fields, so data of a version that is not known yet
are read as the last one that is (`codec.decode_prefix` leaves the rest).

- v1: partitions owned so far (KIP-429). v2: the generation in which they were (KIP-792). v3: rack (KIP-881).
"""

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
