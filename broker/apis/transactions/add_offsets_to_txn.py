"""AddOffsetsToTxn (KIP-98): refused for good.

Transactions are not served, and a producer that asks for them is to stop at once, with this code: on a retriable one it
would go on for its whole time-out.
"""

from ....protocol.errors import ErrorCode
from ....protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from ...requests.context import RequestContext

__all__ = ["add_offsets_to_txn"]


def add_offsets_to_txn(context: RequestContext, request: AddOffsetsToTxnRequest) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
