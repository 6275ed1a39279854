"""InitProducerId: a producer id for an idempotent producer.

Behaviour: transactions are not served. A request with a transactional id gets a fatal error. On a retriable error (no
coordinator) the producer would retry for a minute and report a timeout instead of the reason.

v2 flexible · v3 a producer keeps its id and bumps the epoch (KIP-360) · v4 may answer PRODUCER_FENCED (KIP-588) ·
v5 the client knows TRANSACTION_ABORTABLE (KIP-890).
"""

import logging
from collections.abc import Awaitable, Callable

from ....base.quiet_lines import QUIET
from ....protocol.errors import ErrorCode
from ....protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ...requests.context import RequestContext

__all__ = ["InitProducerId"]

logger = logging.getLogger(__name__)

_NO_PRODUCER_ID = -1
_NO_PRODUCER_EPOCH = -1


class InitProducerId:
    """Handler. ``next_producer_id`` returns an id that no other producer of the cluster has or had.

    It raises KafkaError while no id is available.
    """

    def __init__(self, next_producer_id: Callable[[], Awaitable[int]]) -> None:
        self._next_producer_id = next_producer_id

    async def __call__(self, context: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
        if (request.producer_id == _NO_PRODUCER_ID) != (request.producer_epoch == _NO_PRODUCER_EPOCH):
            return _refusal(ErrorCode.INVALID_REQUEST)
        if request.transactional_id is None:
            # A producer with an id gets a new one too: without transactions nothing depends on the old id.
            return InitProducerIdResponse(producer_id=await self._next_producer_id(), producer_epoch=0)
        if not request.transactional_id:
            return _refusal(ErrorCode.INVALID_REQUEST)
        # The response has no error message, so the log explains the error.
        logger.warning(
            "client %s at %s needs transactions (transactional.id %r), which this broker does not serve; "
            "remove transactional.id (an idempotent producer needs none)",
            context.client_id,
            context.address,
            request.transactional_id,
            extra=QUIET,
        )
        return _refusal(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def _refusal(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=_NO_PRODUCER_ID, producer_epoch=_NO_PRODUCER_EPOCH)
