"""RenewDelegationToken (KIP-48): refused. Listeners are PLAINTEXT, where nobody knows who asks."""

from ....protocol.errors import ErrorCode
from ....protocol.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from ...requests.context import RequestContext

__all__ = ["renew_delegation_token"]

_NO_TIME = -1


def renew_delegation_token(
    context: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(
        error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, expiry_timestamp_ms=_NO_TIME
    )
