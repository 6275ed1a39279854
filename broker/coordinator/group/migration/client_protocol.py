"""Reads and writes what consumers of the classic protocol exchange through the broker: subscriptions and assignments.

**Why.** In a consumer group the broker does the leader's work, so it has to know them. Clients name topics; groups know
them by their ids.
"""

from collections.abc import Iterable
from typing import NamedTuple
from uuid import UUID

from .....base.buffer import Buffer
from .....protocol.codec import NULL_UUID, DecodeError, decode_prefix
from .....protocol.messages.consumer_protocol import (
    AssignmentTopicPartition,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    SubscriptionTopicPartition,
)
from ...versioned import split_version, with_version
from ..modern.assignment import Assignment, assignment_of
from ..modern.topics import TopicLookup

__all__ = ["Subscription", "assignment_bytes", "read_assignment", "read_subscription"]

_NEWEST_VERSION = 3
_MOST_ELEMENTS = 20_000
"""Topics and partitions of a subscription: the event loop reads them."""


class Subscription(NamedTuple):
    """``names``: the topics, sorted. ``owned``: the partitions that the client still has."""

    names: tuple[str, ...]
    owned: Assignment
    rack_id: str | None


def read_subscription(blob: Buffer, topics: TopicLookup) -> Subscription:
    """The metadata of a JoinGroup. Raises DecodeError. Owned partitions of topics that do not exist are left out."""
    version, body = _split(blob)
    value, _ = decode_prefix(ConsumerProtocolSubscription, body, version, max_elements=_MOST_ELEMENTS)
    return Subscription(tuple(sorted(set(value.topics))), _by_id(value.owned_partitions, topics), value.rack_id)


def read_assignment(blob: Buffer, topics: TopicLookup) -> Assignment:
    """An assignment as a leader sent it; nothing for no bytes.

    Raises DecodeError, and ValueError when it has data of an assignor that the broker does not have.
    """
    if not blob:
        return {}
    version, body = _split(blob)
    value, _ = decode_prefix(ConsumerProtocolAssignment, body, version, max_elements=_MOST_ELEMENTS)
    if value.user_data:
        raise ValueError("the assignment has data of a custom assignor")
    return _by_id(value.assigned_partitions, topics)


def assignment_bytes(assignment: Assignment, metadata: Buffer, topics: TopicLookup) -> bytes:
    """The assignment as the member with this metadata reads it. Topics that do not exist are left out."""
    version, _ = _split(metadata)
    named = ((topics.topic_name(topic_id), own) for topic_id, own in assignment.items())
    value = ConsumerProtocolAssignment(
        assigned_partitions=[
            AssignmentTopicPartition(topic=name, partitions=sorted(own)) for name, own in named if name is not None
        ]
    )
    return with_version(value, version)


def _split(blob: Buffer) -> tuple[int, memoryview]:
    """The version, at most the newest known, and what is behind it."""
    version, body = split_version(blob)
    if version < 0:
        raise DecodeError(f"version {version} of consumer metadata is unknown")
    return min(version, _NEWEST_VERSION), body


def _by_id(listed: Iterable[SubscriptionTopicPartition | AssignmentTopicPartition], topics: TopicLookup) -> Assignment:
    return assignment_of(_partitions(listed, topics))


def _partitions(
    listed: Iterable[SubscriptionTopicPartition | AssignmentTopicPartition], topics: TopicLookup
) -> Iterable[tuple[UUID, int]]:
    for each in listed:
        topic_id = topics.topic_id(each.topic)
        if topic_id != NULL_UUID:
            for partition in each.partitions:
                yield topic_id, partition
