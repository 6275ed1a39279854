"""ExpireDelegationToken (KIP-48): refused. Listeners are PLAINTEXT, where nobody knows who asks."""

from ....protocol.errors import ErrorCode
from ....protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from ...requests.context import RequestContext

__all__ = ["expire_delegation_token"]

_NO_TIME = -1


def expire_delegation_token(
    context: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(
        error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, expiry_timestamp_ms=_NO_TIME
    )
