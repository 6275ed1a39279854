"""EndTxn (KIP-98): refused for good.

Transactions are not served, and a producer that asks for them is to stop at once, with this code: on a retriable one it
would go on for its whole time-out.
"""

from ....protocol.errors import ErrorCode
from ....protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from ...requests.context import RequestContext

__all__ = ["end_txn"]


def end_txn(context: RequestContext, request: EndTxnRequest) -> EndTxnResponse:
    return EndTxnResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
