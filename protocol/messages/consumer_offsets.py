"""Keys and values of ``__consumer_offsets``. Each is stored after its version, an int16.

A key's version says what the record is about: 0 and 1 an offset, 2 a classic group, 3 to 8 the new consumer protocol
(KIP-848), as is 16; 10 to 15 share groups (KIP-932), as was 9 in Kafka 3.9. A null value deletes.

OffsetCommitValue: v1 expire timestamp, v2 neither, v3 leader epoch (KIP-320), v4 flexible.
GroupMetadataValue: v1 rebalance timeout, v2 when the state was entered (KIP-211), v3 group instance ids (KIP-345),
v4 flexible.
"""

from uuid import UUID

from ..codec import wire


@wire.message(versions="8", flexible="none")
class ConsumerGroupCurrentMemberAssignmentKey(wire.Message):
    group_id: str = wire.string("8", default="")
    member_id: str = wire.string("8", default="")


@wire.struct
class TopicPartitions(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.message(versions="0", flexible="0+")
class ConsumerGroupCurrentMemberAssignmentValue(wire.Message):
    member_epoch: int = wire.int32("0+", default=0)
    previous_member_epoch: int = wire.int32("0+", default=0)
    state: int = wire.int8("0+", default=0)
    assigned_partitions: list[TopicPartitions] = wire.array(TopicPartitions, "0+", default_factory=list)
    partitions_pending_revocation: list[TopicPartitions] = wire.array(TopicPartitions, "0+", default_factory=list)


@wire.message(versions="5", flexible="none")
class ConsumerGroupMemberMetadataKey(wire.Message):
    group_id: str = wire.string("5", default="")
    member_id: str = wire.string("5", default="")


@wire.struct
class ClassicProtocol(wire.Struct):
    name: str = wire.string("0+", default="")
    metadata: bytes = wire.blob("0+", default=b"")


@wire.struct
class ClassicMemberMetadata(wire.Struct):
    session_timeout_ms: int = wire.int32("0+", default=0)
    supported_protocols: list[ClassicProtocol] = wire.array(ClassicProtocol, "0+", default_factory=list)


@wire.message(versions="0", flexible="0+")
class ConsumerGroupMemberMetadataValue(wire.Message):
    instance_id: str | None = wire.string("0+", nullable="0+", default="")
    rack_id: str | None = wire.string("0+", nullable="0+", default="")
    client_id: str = wire.string("0+", default="")
    client_host: str = wire.string("0+", default="")
    subscribed_topic_names: list[str] = wire.array(wire.STRING, "0+", default_factory=list)
    subscribed_topic_regex: str | None = wire.string("0+", nullable="0+", default="")
    rebalance_timeout_ms: int = wire.int32("0+", default=-1)
    server_assignor: str | None = wire.string("0+", nullable="0+", default="")
    classic_member_metadata: ClassicMemberMetadata | None = wire.struct_field(
        ClassicMemberMetadata, "0+", nullable="0+", default_factory=ClassicMemberMetadata, tag=0
    )


@wire.message(versions="3", flexible="none")
class ConsumerGroupMetadataKey(wire.Message):
    group_id: str = wire.string("3", default="")


@wire.message(versions="0", flexible="0+")
class ConsumerGroupMetadataValue(wire.Message):
    epoch: int = wire.int32("0+", default=0)
    metadata_hash: int = wire.int64("0+", default=0, tag=0)


@wire.message(versions="4", flexible="none")
class ConsumerGroupPartitionMetadataKey(wire.Message):
    group_id: str = wire.string("4", default="")


@wire.struct
class PartitionMetadata(wire.Struct):
    partition: int = wire.int32("0+", default=0)
    racks: list[str] = wire.array(wire.STRING, "0+", default_factory=list)


@wire.struct
class TopicMetadata(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    topic_name: str = wire.string("0+", default="")
    num_partitions: int = wire.int32("0+", default=0)
    partition_metadata: list[PartitionMetadata] = wire.array(PartitionMetadata, "0+", default_factory=list)


@wire.message(versions="0", flexible="0+")
class ConsumerGroupPartitionMetadataValue(wire.Message):
    topics: list[TopicMetadata] = wire.array(TopicMetadata, "0+", default_factory=list)


@wire.message(versions="16", flexible="none")
class ConsumerGroupRegularExpressionKey(wire.Message):
    group_id: str = wire.string("16", default="")
    regular_expression: str = wire.string("16", default="")


@wire.message(versions="0", flexible="0+")
class ConsumerGroupRegularExpressionValue(wire.Message):
    topics: list[str] = wire.array(wire.STRING, "0+", default_factory=list)
    version: int = wire.int64("0+", default=0)
    timestamp: int = wire.int64("0+", default=0)


@wire.message(versions="7", flexible="none")
class ConsumerGroupTargetAssignmentMemberKey(wire.Message):
    group_id: str = wire.string("7", default="")
    member_id: str = wire.string("7", default="")


@wire.struct
class TopicPartition(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.message(versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMemberValue(wire.Message):
    topic_partitions: list[TopicPartition] = wire.array(TopicPartition, "0+", default_factory=list)


@wire.message(versions="6", flexible="none")
class ConsumerGroupTargetAssignmentMetadataKey(wire.Message):
    group_id: str = wire.string("6", default="")


@wire.message(versions="0", flexible="0+")
class ConsumerGroupTargetAssignmentMetadataValue(wire.Message):
    assignment_epoch: int = wire.int32("0+", default=0)


@wire.message(versions="2", flexible="none")
class GroupMetadataKey(wire.Message):
    group: str = wire.string("2", default="")


@wire.struct
class MemberMetadata(wire.Struct):
    member_id: str = wire.string("0+", default="")
    group_instance_id: str | None = wire.string("3+", nullable="3+", default=None, ignorable=True)
    client_id: str = wire.string("0+", default="")
    client_host: str = wire.string("0+", default="")
    rebalance_timeout: int = wire.int32("1+", default=-1, ignorable=True)
    session_timeout: int = wire.int32("0+", default=0)
    subscription: bytes = wire.blob("0+", default=b"")
    assignment: bytes = wire.blob("0+", default=b"")


@wire.message(versions="0-4", flexible="4+")
class GroupMetadataValue(wire.Message):
    protocol_type: str = wire.string("0+", default="")
    generation: int = wire.int32("0+", default=0)
    protocol: str | None = wire.string("0+", nullable="0+", default="")
    leader: str | None = wire.string("0+", nullable="0+", default="")
    current_state_timestamp: int = wire.int64("2+", default=-1, ignorable=True)
    members: list[MemberMetadata] = wire.array(MemberMetadata, "0+", default_factory=list)


@wire.message(versions="0-1", flexible="none")
class OffsetCommitKey(wire.Message):
    group: str = wire.string("0-1", default="")
    topic: str = wire.string("0-1", default="")
    partition: int = wire.int32("0-1", default=0)


@wire.message(versions="0-4", flexible="4+")
class OffsetCommitValue(wire.Message):
    offset: int = wire.int64("0+", default=0)
    leader_epoch: int = wire.int32("3+", default=-1, ignorable=True)
    metadata: str = wire.string("0+", default="")
    commit_timestamp: int = wire.int64("0+", default=0)
    expire_timestamp: int = wire.int64("1", default=-1, ignorable=True)


@wire.message(versions="14", flexible="none")
class ShareGroupCurrentMemberAssignmentKey(wire.Message):
    group_id: str = wire.string("14", default="")
    member_id: str = wire.string("14", default="")


@wire.message(versions="0", flexible="0+")
class ShareGroupCurrentMemberAssignmentValue(wire.Message):
    member_epoch: int = wire.int32("0+", default=0)
    previous_member_epoch: int = wire.int32("0+", default=0)
    state: int = wire.int8("0+", default=0)
    assigned_partitions: list[TopicPartitions] = wire.array(TopicPartitions, "0+", default_factory=list)


@wire.message(versions="10", flexible="none")
class ShareGroupMemberMetadataKey(wire.Message):
    group_id: str = wire.string("10", default="")
    member_id: str = wire.string("10", default="")


@wire.message(versions="0", flexible="0+")
class ShareGroupMemberMetadataValue(wire.Message):
    rack_id: str | None = wire.string("0+", nullable="0+", default="")
    client_id: str = wire.string("0+", default="")
    client_host: str = wire.string("0+", default="")
    subscribed_topic_names: list[str] = wire.array(wire.STRING, "0+", default_factory=list)


@wire.message(versions="11", flexible="none")
class ShareGroupMetadataKey(wire.Message):
    group_id: str = wire.string("11", default="")


@wire.message(versions="0", flexible="0+")
class ShareGroupMetadataValue(wire.Message):
    epoch: int = wire.int32("0+", default=0)
    metadata_hash: int = wire.int64("0+", default=0)


@wire.message(versions="9", flexible="none")
class ShareGroupPartitionMetadataKey(wire.Message):
    group_id: str = wire.string("9", default="")


@wire.struct
class TopicPartitionsInfo(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    topic_name: str = wire.string("0+", default="")
    partitions: list[int] = wire.array(wire.INT32, "0+", default_factory=list)


@wire.struct
class TopicInfo(wire.Struct):
    topic_id: UUID = wire.uuid("0+", default=wire.NULL_UUID)
    topic_name: str = wire.string("0+", default="")


@wire.message(versions="0", flexible="0+")
class ShareGroupPartitionMetadataValue(wire.Message):
    initialized_topics: list[TopicPartitionsInfo] = wire.array(TopicPartitionsInfo, "0+", default_factory=list)
    deleting_topics: list[TopicInfo] = wire.array(TopicInfo, "0+", default_factory=list)


@wire.message(versions="15", flexible="none")
class ShareGroupStatePartitionMetadataKey(wire.Message):
    group_id: str = wire.string("15", default="")


@wire.message(versions="0", flexible="0+")
class ShareGroupStatePartitionMetadataValue(wire.Message):
    initializing_topics: list[TopicPartitionsInfo] = wire.array(TopicPartitionsInfo, "0+", default_factory=list)
    initialized_topics: list[TopicPartitionsInfo] = wire.array(TopicPartitionsInfo, "0+", default_factory=list)
    deleting_topics: list[TopicInfo] = wire.array(TopicInfo, "0+", default_factory=list)


@wire.message(versions="13", flexible="none")
class ShareGroupTargetAssignmentMemberKey(wire.Message):
    group_id: str = wire.string("13", default="")
    member_id: str = wire.string("13", default="")


@wire.message(versions="0", flexible="0+")
class ShareGroupTargetAssignmentMemberValue(wire.Message):
    topic_partitions: list[TopicPartition] = wire.array(TopicPartition, "0+", default_factory=list)


@wire.message(versions="12", flexible="none")
class ShareGroupTargetAssignmentMetadataKey(wire.Message):
    group_id: str = wire.string("12", default="")


@wire.message(versions="0", flexible="0+")
class ShareGroupTargetAssignmentMetadataValue(wire.Message):
    assignment_epoch: int = wire.int32("0+", default=0)
