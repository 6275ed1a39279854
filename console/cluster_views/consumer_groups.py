"""Groups of the consumer protocol (KIP-848), from ConsumerGroupDescribe, in the form in which others are shown."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, NamedTuple

from ...protocol.errors import KafkaError
from ...protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest

__all__ = ["ConsumerGroup", "described_consumers"]


class ConsumerGroup(NamedTuple):
    """A group with the names of DescribeGroups. ``members``: as the console shows them."""

    group_id: str
    group_state: str
    protocol_data: str
    members: list[dict[str, Any]]
    protocol_type: str = "consumer"


async def described_consumers(
    ask: Callable[[ConsumerGroupDescribeRequest], Awaitable[Any]], names: Iterable[str]
) -> dict[str, ConsumerGroup]:
    """The groups that use the protocol among ``names``, by name; none where brokers do not know it.

    ``ask`` sends the request.
    """
    try:
        answer = await ask(ConsumerGroupDescribeRequest(group_ids=list(names)))
    except KafkaError:
        return {}
    return {
        group.group_id: ConsumerGroup(
            group.group_id, group.group_state, group.assignor_name, [_member(each) for each in group.members]
        )
        for group in answer.groups
        if not group.error_code
    }


def _member(found: Any) -> dict[str, Any]:
    return {
        "member_id": found.member_id,
        "client_id": found.client_id,
        "host": found.client_host,
        "instance_id": found.instance_id,
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
        "subscribed_pattern": found.subscribed_topic_regex or None,
    }
