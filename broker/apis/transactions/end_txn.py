"""EndTxn (KIP-98): commit or abort a transaction. The response comes when the decision is stored.

v2 may answer PRODUCER_FENCED (KIP-588) · v3 flexible · v4 the client knows TRANSACTION_ABORTABLE (KIP-890).
v5 the producer gets a new epoch with every end.
"""

from collections.abc import Awaitable

from ....base.acls import AclOperation, AclResourceType
from ....protocol.apis import ApiKey
from ....protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from ...coordinator.pending_response import PendingResponse
from ...coordinator.transaction.outcomes import Response, code_in_version
from ...coordinator.transaction.producer_requests import ProducerRequests
from ...coordinator.transaction.requesting_producer import RequestingProducer
from ...requests.context import RequestContext

__all__ = ["EndTxn"]

_FIRST_VERSION_WITH_BUMP = 5


class EndTxn:
    """Handler."""

    def __init__(self, transactions: ProducerRequests) -> None:
        self._transactions = transactions

    def __call__(self, context: RequestContext, request: EndTxnRequest) -> EndTxnResponse | Awaitable[EndTxnResponse]:
        context.require(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, request.transactional_id)
        version = context.api_version
        pending: PendingResponse[Response, EndTxnResponse] = PendingResponse(
            lambda response: EndTxnResponse(
                error_code=code_in_version(ApiKey.END_TXN, version, response.code),
                producer_id=response.producer_id,
                producer_epoch=response.producer_epoch,
            )
        )
        producer = RequestingProducer(request.producer_id, request.producer_epoch)
        end = self._transactions.end_and_bump if version >= _FIRST_VERSION_WITH_BUMP else self._transactions.end
        end(request.transactional_id, producer, pending, is_commit=request.committed)
        context.abandon = pending.abandon
        return pending.take()
