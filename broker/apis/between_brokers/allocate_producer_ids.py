"""AllocateProducerIds (KIP-730): a broker asks the controller, this broker, for a block of producer ids. Only v0."""

from collections.abc import Awaitable
from typing import Protocol

from ....controller.tree.znodes import ProducerIdBlock
from ....protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from ...requests.context import RequestContext

__all__ = ["AllocateProducerIds", "ProducerIdAllocator"]


class ProducerIdAllocator(Protocol):
    """The part of `Controller` that this handler uses."""

    def allocate_producer_ids(self, broker_id: int, broker_epoch: int) -> Awaitable[ProducerIdBlock]: ...


class AllocateProducerIds:
    """Handles AllocateProducerIds requests."""

    def __init__(self, controller: ProducerIdAllocator) -> None:
        self._controller = controller

    async def __call__(
        self, context: RequestContext, request: AllocateProducerIdsRequest
    ) -> AllocateProducerIdsResponse:
        block = await self._controller.allocate_producer_ids(request.broker_id, request.broker_epoch)
        return AllocateProducerIdsResponse(producer_id_start=block.first, producer_id_len=block.last - block.first + 1)
