"""Groups of the consumer protocol (KIP-848) and share groups (KIP-932), in the form in which others are shown."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from ...protocol.codec import Message
from ...protocol.errors import KafkaError
from ...protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from ...protocol.messages.share_group_describe import ShareGroupDescribeRequest

__all__ = ["SHARE_TYPE", "ConsumerGroup", "described_consumers", "described_shares"]

SHARE_TYPE = "share"
"""The type of share groups, in lower case. DescribeGroups calls them dead."""
Ask = Callable[[Message], Awaitable[Any]]


class ConsumerGroup(NamedTuple):
    """A group with the names of DescribeGroups. ``members``: as the console shows them."""

    group_id: str
    group_state: str
    protocol_data: str
    members: list[dict[str, Any]]
    protocol_type: str = "consumer"


async def described_consumers(ask: Ask, names: Iterable[str]) -> dict[str, ConsumerGroup]:
    """The groups of KIP-848 among ``names``, by name; none where brokers do not know them. ``ask`` sends a request."""
    return await _described(ask, ConsumerGroupDescribeRequest(group_ids=list(names)), "consumer")


async def described_shares(ask: Ask, names: Iterable[str]) -> dict[str, ConsumerGroup]:
    """The share groups among ``names``, likewise."""
    asked = list(names)
    return await _described(ask, ShareGroupDescribeRequest(group_ids=asked), SHARE_TYPE) if asked else {}


async def _described(ask: Ask, request: Message, protocol_type: str) -> dict[str, ConsumerGroup]:
    try:
        answer = await ask(request)
    except KafkaError:
        return {}
    return {
        group.group_id: ConsumerGroup(
            group.group_id,
            group.group_state,
            group.assignor_name,
            [_member(each) for each in group.members],
            protocol_type,
        )
        for group in answer.groups
        if not group.error_code
    }


def _member(found: Any) -> dict[str, Any]:
    return {
        "member_id": found.member_id,
        "client_id": found.client_id,
        "host": found.client_host,
        "instance_id": getattr(found, "instance_id", None),
        "software": None,
        "is_leader": None,
        "is_awaited": None,
        "session_timeout_ms": None,
        "rebalance_timeout_ms": None,
        "last_heartbeat_ms": None,
        "assignment": [
            {"topic": each.topic_name, "partitions": sorted(each.partitions)}
            for each in found.assignment.topic_partitions
        ],
        "lag": None,
        "epoch": found.member_epoch,
        "subscribed_topics": list(found.subscribed_topic_names),
        "subscribed_pattern": getattr(found, "subscribed_topic_regex", None) or None,
    }
