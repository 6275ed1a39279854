"""ListTransactions (KIP-664): always empty, because transactions are not served.

v1 a filter for long transactions (KIP-994).
"""

from ....protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from ...coordinator.transaction.states import STATES_BY_TITLE
from ...requests.context import RequestContext

__all__ = ["list_transactions"]


def list_transactions(context: RequestContext, request: ListTransactionsRequest) -> ListTransactionsResponse:
    unknown = [state for state in dict.fromkeys(request.state_filters) if state not in STATES_BY_TITLE]
    return ListTransactionsResponse(unknown_state_filters=unknown)
