"""LeaderAndIsr: the controller tells this broker which partitions it leads and which it follows.

Below v2 the request does not group partitions by topic; below v5 the response does not.
"""

from collections.abc import Awaitable, Iterable
from typing import Protocol

from ....protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    LeaderAndIsrTopicState,
)
from ...requests.context import RequestContext

__all__ = ["LeaderAndIsr", "LeaderAndIsrOrders"]


class LeaderAndIsrOrders(Protocol):
    """The part of `ControllerOrders` that this handler uses."""

    def leader_and_isr(self, request: LeaderAndIsrRequest) -> Awaitable[LeaderAndIsrResponse]: ...


class LeaderAndIsr:
    """Handles LeaderAndIsr requests."""

    def __init__(self, orders: LeaderAndIsrOrders) -> None:
        self._orders = orders

    async def __call__(self, context: RequestContext, request: LeaderAndIsrRequest) -> LeaderAndIsrResponse:
        if context.api_version < 2:
            request.topic_states = _by_topic(request.ungrouped_partition_states)
        response = await self._orders.leader_and_isr(request)
        if context.api_version < 5:
            response.partition_errors = [error for topic in response.topics for error in topic.partition_errors]
            response.topics = []
        return response


def _by_topic(states: Iterable[LeaderAndIsrPartitionState]) -> list[LeaderAndIsrTopicState]:
    topics: dict[str, LeaderAndIsrTopicState] = {}
    for state in states:
        topic = topics.setdefault(state.topic_name, LeaderAndIsrTopicState(topic_name=state.topic_name))
        topic.partition_states.append(state)
    return list(topics.values())
