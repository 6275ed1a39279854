"""StopReplica: the controller tells this broker to stop replicas, and to delete some of them.

v3 has a leader epoch and a delete flag for each partition. Below v3 one flag holds for the whole request.
"""

from collections.abc import Awaitable
from typing import Protocol

from ....protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    StopReplicaTopicState,
)
from ...requests.context import RequestContext

__all__ = ["StopReplica", "StopReplicaOrders"]


class StopReplicaOrders(Protocol):
    """The part of `ControllerOrders` that this handler uses."""

    def stop_replica(self, request: StopReplicaRequest) -> Awaitable[StopReplicaResponse]: ...


class StopReplica:
    """Handles StopReplica requests."""

    def __init__(self, orders: StopReplicaOrders) -> None:
        self._orders = orders

    async def __call__(self, context: RequestContext, request: StopReplicaRequest) -> StopReplicaResponse:
        if context.api_version < 3:
            request.topic_states = _states(request)
        return await self._orders.stop_replica(request)


def _states(request: StopReplicaRequest) -> list[StopReplicaTopicState]:
    """The request as v3 would have it, without leader epochs."""
    indexes: dict[str, list[int]] = {}
    for topic in request.topics:
        indexes.setdefault(topic.name, []).extend(topic.partition_indexes)
    for partition in request.ungrouped_partitions:
        indexes.setdefault(partition.topic_name, []).append(partition.partition_index)
    return [
        StopReplicaTopicState(
            topic_name=topic,
            partition_states=[
                StopReplicaPartitionState(partition_index=index, delete_partition=request.delete_partitions)
                for index in partitions
            ],
        )
        for topic, partitions in indexes.items()
    ]
