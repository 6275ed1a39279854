"""AllocateProducerIds (KIP-730): a broker asks the controller, this broker, for a block of producer ids. Only v0."""

from ....controller.controller import Controller
from ....protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse
from ...requests.context import RequestContext

__all__ = ["AllocateProducerIds"]


class AllocateProducerIds:
    """Handles AllocateProducerIds requests."""

    def __init__(self, controller: Controller) -> None:
        self._controller = controller

    async def __call__(
        self, context: RequestContext, request: AllocateProducerIdsRequest
    ) -> AllocateProducerIdsResponse:
        block = await self._controller.allocate_producer_ids(request.broker_id, request.broker_epoch)
        return AllocateProducerIdsResponse(producer_id_start=block.first, producer_id_len=block.last - block.first + 1)
