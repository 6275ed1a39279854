"""InitProducerId (API 22): a producer id for an idempotent producer.

v2 is flexible; v3 lets a producer keep its id and bump the epoch (KIP-360); v4 may answer PRODUCER_FENCED (KIP-588);
v5 is v4 for clients that know TRANSACTION_ABORTABLE (KIP-890).

Transactions are not served: with a transactional id the answer is a fatal code. A retriable one (no coordinator)
would make the producer try for a minute and then report a timeout instead of the reason.
"""

import logging
from typing import Protocol

from ....base.quiet_lines import QUIET
from ....protocol.errors import ErrorCode
from ....protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ...requests.context import RequestContext

__all__ = ["InitProducerId", "ProducerIds"]

logger = logging.getLogger(__name__)

_NO_PRODUCER_ID = -1
_NO_PRODUCER_EPOCH = -1


class ProducerIds(Protocol):
    """Ids that no other producer of the cluster has or had. Raises KafkaError while none can be got."""

    async def next(self) -> int: ...


class InitProducerId:
    def __init__(self, producer_ids: ProducerIds) -> None:
        self._producer_ids = producer_ids

    async def __call__(self, context: RequestContext, request: InitProducerIdRequest) -> InitProducerIdResponse:
        if (request.producer_id == _NO_PRODUCER_ID) != (request.producer_epoch == _NO_PRODUCER_EPOCH):
            return _refusal(ErrorCode.INVALID_REQUEST)
        if request.transactional_id is None:
            # A producer that names its old id gets a new one all the same: without transactions nothing is tied to it.
            return InitProducerIdResponse(producer_id=await self._producer_ids.next(), producer_epoch=0)
        if not request.transactional_id:
            return _refusal(ErrorCode.INVALID_REQUEST)
        # The answer has no room for a message; what it means stands in our log.
        logger.warning(
            "client %s at %s asks for transactions (transactional.id %r), which this broker does not serve; "
            "an idempotent producer needs no transactional.id",
            context.client_id,
            context.address,
            request.transactional_id,
            extra=QUIET,
        )
        return _refusal(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)


def _refusal(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=_NO_PRODUCER_ID, producer_epoch=_NO_PRODUCER_EPOCH)
