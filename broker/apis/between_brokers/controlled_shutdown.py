"""ControlledShutdown: a broker that is about to stop asks the controller, this broker, to move its leaderships away.

The response names the partitions that the stopping broker still leads. v2 broker epoch (KIP-380) · v3 flexible.
"""

from ....controller.controller import Controller
from ....protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)
from ...requests.context import RequestContext

__all__ = ["ControlledShutdown"]


class ControlledShutdown:
    """Handles ControlledShutdown requests."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def __call__(self, context: RequestContext, request: ControlledShutdownRequest) -> ControlledShutdownResponse:
        remaining = await self._controller.controlled_shutdown(request.broker_id, request.broker_epoch)
        return ControlledShutdownResponse(
            remaining_partitions=[
                RemainingPartition(topic_name=partition.topic, partition_index=partition.partition)
                for partition in remaining
            ]
        )
