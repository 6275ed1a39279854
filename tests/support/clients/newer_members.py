"""Members of consumer groups (KIP-848) and of share groups (KIP-932) that send the heartbeats which a test asks for."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from pybroker.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from pybroker.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from support.clients.wire_client import WireClient

__all__ = ["join_consumer_group", "join_share_group", "leave_share_group"]

_LEAVES = -1
_VERSION = 1


def join_share_group(client: WireClient, group: str, topics: list[str]) -> str:
    """Join, and wait until the member has partitions; returns its id."""
    member_id = str(uuid4())

    def heartbeat(epoch: int) -> Any:
        request = ShareGroupHeartbeatRequest(group_id=group, member_id=member_id, member_epoch=epoch)
        request.subscribed_topic_names = topics
        return client.ask(request, _VERSION)

    _until_assigned(heartbeat)
    return member_id


def leave_share_group(client: WireClient, group: str, member_id: str) -> None:
    request = ShareGroupHeartbeatRequest(group_id=group, member_id=member_id, member_epoch=_LEAVES)
    assert client.ask(request, _VERSION).error_code == 0


def join_consumer_group(
    client: WireClient, group: str, topics: list[str] | None = None, pattern: str | None = None
) -> str:
    """Join, and wait until the member has partitions; returns its id."""
    member_id = str(uuid4())

    def heartbeat(epoch: int) -> Any:
        request = ConsumerGroupHeartbeatRequest(group_id=group, member_id=member_id, member_epoch=epoch)
        request.rebalance_timeout_ms = 60_000
        request.subscribed_topic_names = topics if pattern is None else []
        request.subscribed_topic_regex = pattern
        request.topic_partitions = []
        return client.ask(request, _VERSION)

    _until_assigned(heartbeat)
    return member_id


def _until_assigned(heartbeat: Callable[[int], Any]) -> None:
    """Send heartbeats until one is answered with partitions."""
    epoch, assignment = 0, None
    while not (assignment and assignment.topic_partitions):
        answer = heartbeat(epoch)
        if not answer.error_code:
            epoch, assignment = answer.member_epoch, answer.assignment
