"""Members of groups as their coordinators describe them, in each of the protocols of groups."""

from collections.abc import Iterable
from typing import Any

from ...protocol.codec import DecodeError, Message, decode_prefix
from ...views.groups import Assignment
from .shapes import GroupMember

__all__ = ["classic_member", "consumer_member", "share_member"]

_VERSION_BYTES = 2


def classic_member(member: Any) -> GroupMember:
    """A member in the response to DescribeGroups."""
    from ...protocol.messages.consumer_protocol import ConsumerProtocolAssignment, ConsumerProtocolSubscription

    subscription = _decoded(ConsumerProtocolSubscription, member.member_metadata)
    assignment = _decoded(ConsumerProtocolAssignment, member.member_assignment)
    return GroupMember(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.client_host,
        instance_id=member.group_instance_id,
        topics=None if subscription is None else tuple(sorted(subscription.topics)),
        assignment=None
        if assignment is None
        else _assignments((each.topic, each.partitions) for each in assignment.assigned_partitions),
    )


def consumer_member(member: Any) -> GroupMember:
    """A member in the response to ConsumerGroupDescribe."""
    return GroupMember(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.client_host,
        instance_id=member.instance_id,
        topics=tuple(sorted(member.subscribed_topic_names)),
        pattern=member.subscribed_topic_regex or None,
        assignment=_assigned(member),
    )


def share_member(member: Any) -> GroupMember:
    """A member in the response to ShareGroupDescribe."""
    return GroupMember(
        member_id=member.member_id,
        client_id=member.client_id,
        host=member.client_host,
        instance_id=None,
        topics=tuple(sorted(member.subscribed_topic_names)),
        assignment=_assigned(member),
    )


def _assigned(member: Any) -> tuple[Assignment, ...]:
    return _assignments((each.topic_name, each.partitions) for each in member.assignment.topic_partitions)


def _assignments(parts: Iterable[tuple[str, Iterable[int]]]) -> tuple[Assignment, ...]:
    return tuple(Assignment(topic=topic, partitions=tuple(sorted(numbers))) for topic, numbers in sorted(parts))


def _decoded(form: type[Message], data: bytes) -> Any:
    """The message that a consumer sent; None when the bytes are not those of a consumer."""
    if len(data) < _VERSION_BYTES:
        return None
    version = int.from_bytes(data[:_VERSION_BYTES], "big", signed=True)
    try:
        return decode_prefix(form, bytes(data), min(max(version, 0), form.MESSAGE.versions.last), _VERSION_BYTES)[0]
    except (DecodeError, ValueError):
        return None
