"""The values of offsets and classic groups in ``__consumer_offsets``, byte for byte as Kafka 3.9 writes them.

They are written in version 3, the newest without tagged fields; an offset with its own expiry needs version 1. All
versions up to 4 are read. The keys are in ``record_keys.py``.
"""

from collections.abc import Mapping
from typing import TypeVar

from ....base.buffer import Buffer
from ....protocol.codec import DecodeError, Message, decode
from ....protocol.messages.consumer_offsets import GroupMetadataValue, MemberMetadata, OffsetCommitValue
from ....protocol.sentinels import NO_LEADER_EPOCH
from ..versioned import split_version, with_version
from .group import Group
from .member import Member, MemberProtocol
from .offsets import OffsetAndMetadata
from .states import GroupState

__all__ = ["decode_group", "decode_offset", "encode_group", "encode_offset"]

_VALUE_VERSION = 3
_VALUE_VERSION_WITH_EXPIRY = 1
_NEWEST_VALUE_VERSION = 4
_NO_TIMESTAMP = -1

Value = TypeVar("Value", bound=Message)


def encode_offset(value: OffsetAndMetadata) -> bytes:
    """The value of a committed offset."""
    expires = value.expire_timestamp_ms is not None
    message = OffsetCommitValue(
        offset=value.offset,
        leader_epoch=NO_LEADER_EPOCH if expires else value.leader_epoch,
        metadata=value.metadata,
        commit_timestamp=value.commit_timestamp_ms,
        expire_timestamp=_NO_TIMESTAMP if value.expire_timestamp_ms is None else value.expire_timestamp_ms,
    )
    return with_version(message, _VALUE_VERSION_WITH_EXPIRY if expires else _VALUE_VERSION)


def encode_group(group: Group, assignments: Mapping[str, bytes]) -> bytes:
    """The value of a group: its generation with the subscription and assignment of each member.

    ``assignments``: member id → bytes.
    """
    message = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=group.protocol_name,
        leader=group.leader_id,
        current_state_timestamp=_NO_TIMESTAMP if group.state_timestamp_ms is None else group.state_timestamp_ms,
        members=[_member_record(group, member, assignments) for member in group.members.values()],
    )
    return with_version(message, _VALUE_VERSION)


def decode_offset(value: Buffer) -> OffsetAndMetadata:
    """A committed offset from its record's value. Raises DecodeError for a broken or too new value."""
    message = _decode_value(OffsetCommitValue, value)
    return OffsetAndMetadata(
        message.offset,
        message.leader_epoch,
        message.metadata,
        message.commit_timestamp,
        None if message.expire_timestamp == _NO_TIMESTAMP else message.expire_timestamp,
    )


def decode_group(group_id: str, value: Buffer) -> Group:
    """A group from its record's value: stable with its members, or empty. Raises DecodeError for a broken or too new
    value."""
    message = _decode_value(GroupMetadataValue, value)
    timestamp = message.current_state_timestamp
    group = Group(
        group_id,
        None if timestamp == _NO_TIMESTAMP else timestamp,
        GroupState.STABLE if message.members else GroupState.EMPTY,
    )
    for record in message.members:
        if record.group_instance_id is not None and record.group_instance_id in group.static_members:
            raise DecodeError(f"group {group_id} names static member {record.group_instance_id} twice")
        group.add(_member(message, record))
    group.generation_id = message.generation
    group.set_protocol_type(message.protocol_type or None)
    group.protocol_name = message.protocol
    group.leader_id = message.leader if message.leader in group.members else None
    group.refresh_subscribed_topics()
    return group


def _member_record(group: Group, member: Member, assignments: Mapping[str, bytes]) -> MemberMetadata:
    assert group.protocol_name is not None
    return MemberMetadata(
        member_id=member.member_id,
        group_instance_id=member.group_instance_id,
        client_id=member.client_id,
        client_host=member.client_host,
        rebalance_timeout=member.rebalance_timeout_ms,
        session_timeout=member.session_timeout_ms,
        subscription=member.metadata(group.protocol_name),
        assignment=assignments[member.member_id],
    )


def _member(group: GroupMetadataValue, record: MemberMetadata) -> Member:
    # Version 0 has no rebalance timeout; the session timeout serves as both.
    rebalance_timeout_ms = record.rebalance_timeout if record.rebalance_timeout >= 0 else record.session_timeout
    return Member(
        record.member_id,
        record.group_instance_id,
        record.client_id,
        record.client_host,
        rebalance_timeout_ms,
        record.session_timeout,
        group.protocol_type,
        (MemberProtocol(group.protocol or "", bytes(record.subscription)),),
        bytes(record.assignment),
    )


def _decode_value(message_type: type[Value], value: Buffer) -> Value:
    version, body = split_version(value)
    if not 0 <= version <= _NEWEST_VALUE_VERSION:
        raise DecodeError(f"version {version} of {message_type.__name__} is unknown")
    return decode(message_type, body, version)
