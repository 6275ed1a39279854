"""InitProducerId: a producer id and epoch for an idempotent or a transactional producer.

Behaviour: a producer with a transactional id fences earlier producers with that id, and their open transaction is
aborted first. v2 flexible · v3 a producer keeps its id and bumps the epoch (KIP-360) · v4 may answer PRODUCER_FENCED
(KIP-588) · v5 the client knows TRANSACTION_ABORTABLE (KIP-890).
"""

from collections.abc import Awaitable, Callable

from ....base.acls import AclOperation, AclResourceType
from ....protocol.apis import ApiKey
from ....protocol.errors import ErrorCode
from ....protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from ...coordinator.pending_response import PendingResponse
from ...coordinator.transaction.init_rules import InitRequest
from ...coordinator.transaction.outcomes import Response, code_in_version
from ...coordinator.transaction.producer_requests import ProducerRequests
from ...coordinator.transaction.requesting_producer import RequestingProducer
from ...requests.context import RequestContext

__all__ = ["InitProducerId"]

_NO_PRODUCER_ID = -1
_NO_PRODUCER_EPOCH = -1


class InitProducerId:
    """Handler. ``next_producer_id`` returns an id that no other producer of the cluster has or had.

    It raises KafkaError while no id is available.
    """

    def __init__(self, next_producer_id: Callable[[], Awaitable[int]], transactions: ProducerRequests) -> None:
        self._next_producer_id = next_producer_id
        self._transactions = transactions

    def __call__(
        self, context: RequestContext, request: InitProducerIdRequest
    ) -> InitProducerIdResponse | Awaitable[InitProducerIdResponse]:
        denial = _denial(context, request.transactional_id)
        if denial is not None:
            return _failure(denial)
        if (request.producer_id == _NO_PRODUCER_ID) != (request.producer_epoch == _NO_PRODUCER_EPOCH):
            return _failure(ErrorCode.INVALID_REQUEST)
        if request.transactional_id is None:
            return self._idempotent()
        version = context.api_version

        def to_response(response: Response) -> InitProducerIdResponse:
            if response.code is not ErrorCode.NONE:
                return _failure(code_in_version(ApiKey.INIT_PRODUCER_ID, version, response.code))
            return InitProducerIdResponse(producer_id=response.producer_id, producer_epoch=response.producer_epoch)

        pending: PendingResponse[Response, InitProducerIdResponse] = PendingResponse(to_response)
        producer = RequestingProducer(request.producer_id, request.producer_epoch)
        self._transactions.init_producer_id(
            request.transactional_id, InitRequest(request.transaction_timeout_ms, producer), pending
        )
        context.abandon = pending.abandon
        return pending.take()

    async def _idempotent(self) -> InitProducerIdResponse:
        """A producer with an id gets a new one too: without transactions nothing depends on the old id."""
        return InitProducerIdResponse(producer_id=await self._next_producer_id(), producer_epoch=0)


def _denial(context: RequestContext, transactional_id: str | None) -> ErrorCode | None:
    """None: the client may have a producer id. A client with the right to write to any topic may too (KIP-679)."""
    if transactional_id is not None:
        may_write = context.may(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, transactional_id)
        return None if may_write else ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    if context.may_on_cluster(AclOperation.IDEMPOTENT_WRITE, is_quiet=True):
        return None
    may_write = context.may_by_resource_type(AclOperation.WRITE, AclResourceType.TOPIC)
    return None if may_write else ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def _failure(error: ErrorCode) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error, producer_id=_NO_PRODUCER_ID, producer_epoch=_NO_PRODUCER_EPOCH)
