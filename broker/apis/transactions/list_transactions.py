"""ListTransactions (KIP-664): the transactional ids that this broker coordinates, by state or producer id.

v1 a filter for long transactions (KIP-994).
"""

from ....base.acls import AclOperation, AclResourceType
from ....protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from ...coordinator.transaction.coordinator import TransactionCoordinator
from ...coordinator.transaction.listing import ListFilter
from ...requests.context import RequestContext

__all__ = ["ListTransactions"]


class ListTransactions:
    """Handler."""

    def __init__(self, transactions: TransactionCoordinator) -> None:
        self._transactions = transactions

    async def __call__(self, context: RequestContext, request: ListTransactionsRequest) -> ListTransactionsResponse:
        wanted = ListFilter(
            frozenset(request.state_filters), frozenset(request.producer_id_filters), request.duration_filter
        )
        found = await self._transactions.listing(wanted)
        ids = (each.transactional_id for each in found.listings)
        hidden = context.denied(AclOperation.DESCRIBE, AclResourceType.TRANSACTIONAL_ID, ids)
        return ListTransactionsResponse(
            error_code=found.code,
            unknown_state_filters=found.unknown_states,
            transaction_states=[
                TransactionState(
                    transactional_id=each.transactional_id,
                    producer_id=each.producer_id,
                    transaction_state=each.state,
                )
                for each in found.listings
                if each.transactional_id not in hidden
            ],
        )
