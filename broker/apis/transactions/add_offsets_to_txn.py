"""AddOffsetsToTxn (KIP-98): add the partition that stores a group's offsets to a transaction.

v2 may answer PRODUCER_FENCED (KIP-588) · v3 flexible · v4 the client knows TRANSACTION_ABORTABLE (KIP-890).
"""

from collections.abc import Awaitable

from ....base.acls import AclOperation, AclResourceType
from ....protocol.apis import ApiKey
from ....protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from ...coordinator.pending_response import PendingResponse
from ...coordinator.transaction.outcomes import Response, code_in_version
from ...coordinator.transaction.producer_requests import ProducerRequests
from ...coordinator.transaction.requesting_producer import RequestingProducer
from ...requests.context import RequestContext

__all__ = ["AddOffsetsToTxn"]


class AddOffsetsToTxn:
    """Handler."""

    def __init__(self, transactions: ProducerRequests) -> None:
        self._transactions = transactions

    def __call__(
        self, context: RequestContext, request: AddOffsetsToTxnRequest
    ) -> AddOffsetsToTxnResponse | Awaitable[AddOffsetsToTxnResponse]:
        context.require(AclOperation.WRITE, AclResourceType.TRANSACTIONAL_ID, request.transactional_id)
        context.require(AclOperation.READ, AclResourceType.GROUP, request.group_id)
        version = context.api_version
        pending: PendingResponse[Response, AddOffsetsToTxnResponse] = PendingResponse(
            lambda response: AddOffsetsToTxnResponse(
                error_code=code_in_version(ApiKey.ADD_OFFSETS_TO_TXN, version, response.code)
            )
        )
        producer = RequestingProducer(request.producer_id, request.producer_epoch)
        self._transactions.add_offsets(request.transactional_id, producer, request.group_id, pending)
        context.abandon = pending.abandon
        return pending.take()
