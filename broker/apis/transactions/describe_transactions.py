"""DescribeTransactions (KIP-664): every transactional id is unknown, because transactions are not served. Only v0."""

from ....protocol.errors import ErrorCode
from ....protocol.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TransactionState,
)
from ...requests.context import RequestContext

__all__ = ["describe_transactions"]


def describe_transactions(
    context: RequestContext, request: DescribeTransactionsRequest
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[
            TransactionState(
                transactional_id=transactional_id,
                error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND if transactional_id else ErrorCode.INVALID_REQUEST,
            )
            for transactional_id in request.transactional_ids
        ]
    )
