"""Keys and values of a consumer group's records in ``__consumer_offsets``, as Kafka 4.2 writes them.

Assignments are written in the order of topic ids and partitions, so that equal records have equal bytes.
"""

import struct
from collections.abc import Iterable
from functools import lru_cache
from typing import assert_never

from .....base.buffer import Buffer
from .....protocol.codec import DecodeError, Message, decode
from .....protocol.messages.consumer_offsets import (
    ClassicMemberMetadata,
    ClassicProtocol,
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
    TopicPartition,
    TopicPartitions,
)
from ...versioned import split_version, with_version
from ..member import MemberProtocol
from ..modern.assignment import Assignment, in_order
from .records import (
    ClassicMember,
    CurrentMember,
    GroupEpoch,
    GroupRecord,
    MemberMetadata,
    RecordKind,
    Removed,
    ResolvedPattern,
    TargetEpoch,
    TargetMember,
)
from .states import MemberState

__all__ = ["decode_record", "encode", "encode_key"]

_VALUE_VERSION = 0
_LENGTH = struct.Struct(">h")
"""In front of the name at the end of a key."""
_LONGEST_NAME = 0x7FFF


def encode(group_id: str, record: GroupRecord) -> tuple[bytes, bytes | None]:
    """Key and value of a record; the value of a tombstone is None."""
    if isinstance(record, Removed):
        return encode_key(group_id, record), None
    identity, value = _encode_value(record)
    return encode_key(group_id, identity), with_version(value, _VALUE_VERSION)


def encode_key(group_id: str, removed: Removed) -> bytes:
    """The key of a record."""
    kind, name = removed
    if not name.isascii() or not 0 < len(name) <= _LONGEST_NAME:
        return _encode_key(group_id, kind, name)
    return _key_before_name(group_id, kind) + _LENGTH.pack(len(name)) + name.encode()


@lru_cache(maxsize=128)
def _key_before_name(group_id: str, kind: RecordKind) -> bytes:
    """The part of a key that all members of a group share. A batch may have thousands of such keys."""
    return _encode_key(group_id, kind, "")[: -_LENGTH.size]


def _encode_key(group_id: str, kind: RecordKind, name: str) -> bytes:
    key: Message
    match kind:
        case RecordKind.GROUP:
            key = ConsumerGroupMetadataKey(group_id=group_id)
        case RecordKind.PARTITION_METADATA:
            key = ConsumerGroupPartitionMetadataKey(group_id=group_id)
        case RecordKind.MEMBER:
            key = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=name)
        case RecordKind.TARGET:
            key = ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)
        case RecordKind.TARGET_MEMBER:
            key = ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=name)
        case RecordKind.CURRENT_MEMBER:
            key = ConsumerGroupCurrentMemberAssignmentKey(group_id=group_id, member_id=name)
        case RecordKind.PATTERN:
            key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=name)
        case _:
            assert_never(kind)
    return with_version(key, kind)


def decode_record(version: int, key: Buffer, value: Buffer | None) -> tuple[str, GroupRecord | None]:
    """The group id and the record of a key, given behind its version, and a value.

    None: the value has nothing that is of use. Raises DecodeError for a broken key or value, and for a value that is
    too new.
    """
    kind = RecordKind(version)
    group_id, name = _decode_key(kind, key)
    if value is None:
        return group_id, Removed(kind, name)
    value_version, body = split_version(value)
    if value_version != _VALUE_VERSION:
        raise DecodeError(f"version {value_version} of the value for key version {version} is unknown")
    return group_id, _decode_value(kind, name, body)


def _encode_value(record: GroupRecord) -> tuple[Removed, Message]:
    match record:
        case GroupEpoch():
            return Removed(RecordKind.GROUP), ConsumerGroupMetadataValue(
                epoch=record.epoch, metadata_hash=record.metadata_hash
            )
        case MemberMetadata():
            return Removed(RecordKind.MEMBER, record.member_id), _encode_member(record)
        case TargetEpoch():
            return Removed(RecordKind.TARGET), ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=record.epoch)
        case TargetMember():
            return Removed(RecordKind.TARGET_MEMBER, record.member_id), ConsumerGroupTargetAssignmentMemberValue(
                topic_partitions=[
                    TopicPartition(topic_id=topic_id, partitions=sorted(own))
                    for topic_id, own in in_order(record.assignment)
                ]
            )
        case CurrentMember():
            return Removed(RecordKind.CURRENT_MEMBER, record.member_id), ConsumerGroupCurrentMemberAssignmentValue(
                member_epoch=record.epoch,
                previous_member_epoch=record.previous_epoch,
                state=record.state,
                assigned_partitions=_encode_partitions(record.assigned),
                partitions_pending_revocation=_encode_partitions(record.revoking),
            )
        case ResolvedPattern():
            return Removed(RecordKind.PATTERN, record.pattern), ConsumerGroupRegularExpressionValue(
                topics=sorted(record.topics), version=record.version, timestamp=record.time_ms
            )
        case Removed():
            raise ValueError("a tombstone has no value")
        case _:
            assert_never(record)


def _encode_member(record: MemberMetadata) -> ConsumerGroupMemberMetadataValue:
    return ConsumerGroupMemberMetadataValue(
        instance_id=record.instance_id,
        rack_id=record.rack_id,
        client_id=record.client_id,
        client_host=record.client_host,
        subscribed_topic_names=list(record.names),
        subscribed_topic_regex=record.pattern,
        rebalance_timeout_ms=record.rebalance_timeout_ms,
        server_assignor=record.server_assignor,
        # None must be written, too: for Kafka, a member without the field is a classic one.
        classic_member_metadata=None if record.classic is None else _encode_classic(record.classic),
    )


def _encode_classic(classic: ClassicMember) -> ClassicMemberMetadata:
    protocols = [ClassicProtocol(name=protocol.name, metadata=protocol.metadata) for protocol in classic.protocols]
    return ClassicMemberMetadata(session_timeout_ms=classic.session_timeout_ms, supported_protocols=protocols)


def _encode_partitions(assignment: Assignment) -> list[TopicPartitions]:
    return [TopicPartitions(topic_id=topic_id, partitions=sorted(own)) for topic_id, own in in_order(assignment)]


def _decode_key(kind: RecordKind, key: Buffer) -> tuple[str, str]:
    """The group id, and the name of what the record is about."""
    match kind:
        case RecordKind.GROUP:
            return decode(ConsumerGroupMetadataKey, key, kind).group_id, ""
        case RecordKind.PARTITION_METADATA:
            return decode(ConsumerGroupPartitionMetadataKey, key, kind).group_id, ""
        case RecordKind.TARGET:
            return decode(ConsumerGroupTargetAssignmentMetadataKey, key, kind).group_id, ""
        case RecordKind.PATTERN:
            of_pattern = decode(ConsumerGroupRegularExpressionKey, key, kind)
            return of_pattern.group_id, of_pattern.regular_expression
        case RecordKind.MEMBER:
            of_member = decode(ConsumerGroupMemberMetadataKey, key, kind)
            return of_member.group_id, of_member.member_id
        case RecordKind.TARGET_MEMBER:
            of_target = decode(ConsumerGroupTargetAssignmentMemberKey, key, kind)
            return of_target.group_id, of_target.member_id
        case RecordKind.CURRENT_MEMBER:
            of_current = decode(ConsumerGroupCurrentMemberAssignmentKey, key, kind)
            return of_current.group_id, of_current.member_id
        case _:
            assert_never(kind)


def _decode_value(kind: RecordKind, name: str, body: Buffer) -> GroupRecord | None:
    match kind:
        case RecordKind.GROUP:
            group = decode(ConsumerGroupMetadataValue, body, _VALUE_VERSION)
            return GroupEpoch(group.epoch, group.metadata_hash)
        case RecordKind.PARTITION_METADATA:
            return None
        case RecordKind.MEMBER:
            return _decode_member(name, body)
        case RecordKind.TARGET:
            target = decode(ConsumerGroupTargetAssignmentMetadataValue, body, _VALUE_VERSION)
            return TargetEpoch(target.assignment_epoch)
        case RecordKind.TARGET_MEMBER:
            value = decode(ConsumerGroupTargetAssignmentMemberValue, body, _VALUE_VERSION)
            return TargetMember(name, _decode_partitions(value.topic_partitions))
        case RecordKind.CURRENT_MEMBER:
            return _decode_current(name, body)
        case RecordKind.PATTERN:
            pattern = decode(ConsumerGroupRegularExpressionValue, body, _VALUE_VERSION)
            return ResolvedPattern(name, frozenset(pattern.topics), pattern.version, pattern.timestamp)
        case _:
            assert_never(kind)


def _decode_member(member_id: str, body: Buffer) -> MemberMetadata:
    value = decode(ConsumerGroupMemberMetadataValue, body, _VALUE_VERSION)
    return MemberMetadata(
        member_id,
        value.instance_id,
        value.rack_id,
        value.client_id,
        value.client_host,
        tuple(sorted(set(value.subscribed_topic_names))),
        value.subscribed_topic_regex,
        value.rebalance_timeout_ms,
        value.server_assignor,
        _decode_classic(value.classic_member_metadata),
    )


def _decode_classic(value: ClassicMemberMetadata | None) -> ClassicMember | None:
    """None also for the field's default, which has no protocol."""
    if value is None or not value.supported_protocols:
        return None
    protocols = tuple(MemberProtocol(each.name, bytes(each.metadata)) for each in value.supported_protocols)
    return ClassicMember(value.session_timeout_ms, protocols)


def _decode_current(member_id: str, body: Buffer) -> CurrentMember:
    value = decode(ConsumerGroupCurrentMemberAssignmentValue, body, _VALUE_VERSION)
    try:
        state = MemberState(value.state)
    except ValueError:
        state = MemberState.UNKNOWN
    return CurrentMember(
        member_id,
        value.member_epoch,
        value.previous_member_epoch,
        state,
        _decode_partitions(value.assigned_partitions),
        _decode_partitions(value.partitions_pending_revocation),
    )


def _decode_partitions(topics: Iterable[TopicPartition | TopicPartitions]) -> Assignment:
    return {topic.topic_id: frozenset(topic.partitions) for topic in topics if topic.partitions}
