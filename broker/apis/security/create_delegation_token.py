"""CreateDelegationToken (KIP-48): refused. Listeners are PLAINTEXT, where nobody knows who asks.

v3 tokens for another owner, and who asked for it (KIP-373).
"""

from ....protocol.errors import ErrorCode
from ....protocol.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse
from ...requests.context import RequestContext

__all__ = ["create_delegation_token"]

_NO_TIME = -1


def create_delegation_token(
    context: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    requester_type, _, requester = context.address.principal.partition(":")
    owner_type, owner = requester_type, requester
    if context.api_version >= 3 and request.owner_principal_name:
        owner_type, owner = request.owner_principal_type or "", request.owner_principal_name
    response = CreateDelegationTokenResponse(
        error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED,
        principal_type=owner_type,
        principal_name=owner,
        issue_timestamp_ms=_NO_TIME,
        expiry_timestamp_ms=_NO_TIME,
        max_timestamp_ms=_NO_TIME,
    )
    if context.api_version >= 3:
        response.token_requester_principal_type = requester_type
        response.token_requester_principal_name = requester
    return response
