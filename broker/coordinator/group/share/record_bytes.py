"""Keys and values of a share group's records in ``__consumer_offsets``, as Kafka 4.2 writes them.

Topics and partitions are written in order, so that equal records have equal bytes.
"""

from collections.abc import Iterable, Mapping
from typing import assert_never
from uuid import UUID

from .....base.buffer import Buffer
from .....protocol.codec import DecodeError, Message, decode
from .....protocol.messages.consumer_offsets import (
    ShareGroupCurrentMemberAssignmentKey,
    ShareGroupCurrentMemberAssignmentValue,
    ShareGroupMemberMetadataKey,
    ShareGroupMemberMetadataValue,
    ShareGroupMetadataKey,
    ShareGroupMetadataValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataValue,
    ShareGroupTargetAssignmentMemberKey,
    ShareGroupTargetAssignmentMemberValue,
    ShareGroupTargetAssignmentMetadataKey,
    ShareGroupTargetAssignmentMetadataValue,
    TopicInfo,
    TopicPartition,
    TopicPartitions,
    TopicPartitionsInfo,
)
from ...versioned import split_version, with_version
from ..modern.assignment import Assignment, in_order
from ..modern.records import GroupEpoch, TargetEpoch, TargetMember
from .records import CurrentMember, MemberMetadata, NamedPartitions, RecordKind, Removed, ShareRecord, StatePartitions

__all__ = ["decode_record", "encode", "encode_key"]

_VALUE_VERSION = 0
_STABLE = 0
"""The only state of a member, because no partition has to be given back before another member gets it."""


def encode(group_id: str, record: ShareRecord) -> tuple[bytes, bytes | None]:
    """Key and value of a record; the value of a tombstone is None."""
    if isinstance(record, Removed):
        return encode_key(group_id, record), None
    identity, value = _encode_value(record)
    return encode_key(group_id, identity), with_version(value, _VALUE_VERSION)


def encode_key(group_id: str, removed: Removed) -> bytes:
    """The key of a record."""
    kind, name = removed
    key: Message
    match kind:
        case RecordKind.GROUP:
            key = ShareGroupMetadataKey(group_id=group_id)
        case RecordKind.MEMBER:
            key = ShareGroupMemberMetadataKey(group_id=group_id, member_id=name)
        case RecordKind.TARGET:
            key = ShareGroupTargetAssignmentMetadataKey(group_id=group_id)
        case RecordKind.TARGET_MEMBER:
            key = ShareGroupTargetAssignmentMemberKey(group_id=group_id, member_id=name)
        case RecordKind.CURRENT_MEMBER:
            key = ShareGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=name)
        case RecordKind.STATES:
            key = ShareGroupStatePartitionMetadataKey(group_id=group_id)
        case _:
            assert_never(kind)
    return with_version(key, kind)


def decode_record(version: int, key: Buffer, value: Buffer | None) -> tuple[str, ShareRecord]:
    """The group id and the record of a key, given behind its version, and a value. Raises DecodeError."""
    kind = RecordKind(version)
    group_id, name = _decode_key(kind, key)
    if value is None:
        return group_id, Removed(kind, name)
    value_version, body = split_version(value)
    if value_version != _VALUE_VERSION:
        raise DecodeError(f"version {value_version} of the value for key version {version} is unknown")
    return group_id, _decode_value(kind, name, body)


def _encode_value(record: ShareRecord) -> tuple[Removed, Message]:
    match record:
        case GroupEpoch():
            return Removed(RecordKind.GROUP), ShareGroupMetadataValue(
                epoch=record.epoch, metadata_hash=record.metadata_hash
            )
        case MemberMetadata():
            return Removed(RecordKind.MEMBER, record.member_id), ShareGroupMemberMetadataValue(
                rack_id=record.rack_id,
                client_id=record.client_id,
                client_host=record.client_host,
                subscribed_topic_names=list(record.names),
            )
        case TargetEpoch():
            return Removed(RecordKind.TARGET), ShareGroupTargetAssignmentMetadataValue(assignment_epoch=record.epoch)
        case TargetMember():
            return Removed(RecordKind.TARGET_MEMBER, record.member_id), ShareGroupTargetAssignmentMemberValue(
                topic_partitions=[
                    TopicPartition(topic_id=topic_id, partitions=sorted(own))
                    for topic_id, own in in_order(record.assignment)
                ]
            )
        case CurrentMember():
            return Removed(RecordKind.CURRENT_MEMBER, record.member_id), ShareGroupCurrentMemberAssignmentValue(
                member_epoch=record.epoch,
                previous_member_epoch=record.previous_epoch,
                state=_STABLE,
                assigned_partitions=[
                    TopicPartitions(topic_id=topic_id, partitions=sorted(own))
                    for topic_id, own in in_order(record.assigned)
                ],
            )
        case StatePartitions():
            return Removed(RecordKind.STATES), ShareGroupStatePartitionMetadataValue(
                initializing_topics=_encode_named(record.initializing),
                initialized_topics=_encode_named(record.initialized),
                deleting_topics=[
                    TopicInfo(topic_id=topic_id, topic_name=name) for topic_id, name in in_order(record.deleting)
                ],
            )
        case Removed():
            raise ValueError("a tombstone has no value")
        case _:
            assert_never(record)


def _encode_named(topics: Mapping[UUID, NamedPartitions]) -> list[TopicPartitionsInfo]:
    return [
        TopicPartitionsInfo(topic_id=topic_id, topic_name=topic.name, partitions=sorted(topic.partitions))
        for topic_id, topic in in_order(topics)
    ]


def _decode_key(kind: RecordKind, key: Buffer) -> tuple[str, str]:
    """The group id, and the member id."""
    match kind:
        case RecordKind.GROUP:
            return decode(ShareGroupMetadataKey, key, kind).group_id, ""
        case RecordKind.TARGET:
            return decode(ShareGroupTargetAssignmentMetadataKey, key, kind).group_id, ""
        case RecordKind.STATES:
            return decode(ShareGroupStatePartitionMetadataKey, key, kind).group_id, ""
        case RecordKind.MEMBER:
            of_member = decode(ShareGroupMemberMetadataKey, key, kind)
            return of_member.group_id, of_member.member_id
        case RecordKind.TARGET_MEMBER:
            of_target = decode(ShareGroupTargetAssignmentMemberKey, key, kind)
            return of_target.group_id, of_target.member_id
        case RecordKind.CURRENT_MEMBER:
            of_current = decode(ShareGroupCurrentMemberAssignmentKey, key, kind)
            return of_current.group_id, of_current.member_id
        case _:
            assert_never(kind)


def _decode_value(kind: RecordKind, name: str, body: Buffer) -> ShareRecord:
    match kind:
        case RecordKind.GROUP:
            group = decode(ShareGroupMetadataValue, body, _VALUE_VERSION)
            return GroupEpoch(group.epoch, group.metadata_hash)
        case RecordKind.MEMBER:
            member = decode(ShareGroupMemberMetadataValue, body, _VALUE_VERSION)
            names = tuple(sorted(set(member.subscribed_topic_names)))
            return MemberMetadata(name, member.rack_id, member.client_id, member.client_host, names)
        case RecordKind.TARGET:
            target = decode(ShareGroupTargetAssignmentMetadataValue, body, _VALUE_VERSION)
            return TargetEpoch(target.assignment_epoch)
        case RecordKind.TARGET_MEMBER:
            of_member = decode(ShareGroupTargetAssignmentMemberValue, body, _VALUE_VERSION)
            return TargetMember(name, _decode_partitions(of_member.topic_partitions))
        case RecordKind.CURRENT_MEMBER:
            current = decode(ShareGroupCurrentMemberAssignmentValue, body, _VALUE_VERSION)
            assigned = _decode_partitions(current.assigned_partitions)
            return CurrentMember(name, current.member_epoch, current.previous_member_epoch, assigned)
        case RecordKind.STATES:
            states = decode(ShareGroupStatePartitionMetadataValue, body, _VALUE_VERSION)
            return StatePartitions(
                _decode_named(states.initializing_topics),
                _decode_named(states.initialized_topics),
                {topic.topic_id: topic.topic_name for topic in states.deleting_topics},
            )
        case _:
            assert_never(kind)


def _decode_partitions(topics: Iterable[TopicPartition | TopicPartitions]) -> Assignment:
    return {topic.topic_id: frozenset(topic.partitions) for topic in topics if topic.partitions}


def _decode_named(topics: Iterable[TopicPartitionsInfo]) -> Mapping[UUID, NamedPartitions]:
    return {
        topic.topic_id: NamedPartitions(topic.topic_name, frozenset(topic.partitions))
        for topic in topics
        if topic.partitions
    }
