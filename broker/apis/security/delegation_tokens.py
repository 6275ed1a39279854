"""CreateDelegationToken, RenewDelegationToken and ExpireDelegationToken (KIP-48): refused.

Kafka gives no tokens to clients of PLAINTEXT listeners because they have not authenticated. Version 3 of
CreateDelegationToken can ask for a token for another owner; its response also names the requester (KIP-373).
"""

from ....protocol.errors import ErrorCode
from ....protocol.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse
from ....protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from ....protocol.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from ...requests.context import RequestContext

__all__ = ["create_delegation_token", "expire_delegation_token", "renew_delegation_token"]

_REFUSED = ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
_NO_TIME_MS = -1


def create_delegation_token(
    context: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    requester = context.principal
    owner_type, owner = requester.type, requester.name
    if context.api_version >= 3 and request.owner_principal_name:
        owner_type, owner = request.owner_principal_type or "", request.owner_principal_name
    response = CreateDelegationTokenResponse(
        error_code=_REFUSED,
        principal_type=owner_type,
        principal_name=owner,
        issue_timestamp_ms=_NO_TIME_MS,
        expiry_timestamp_ms=_NO_TIME_MS,
        max_timestamp_ms=_NO_TIME_MS,
    )
    if context.api_version >= 3:
        response.token_requester_principal_type = requester.type
        response.token_requester_principal_name = requester.name
    return response


def renew_delegation_token(
    context: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(error_code=_REFUSED, expiry_timestamp_ms=_NO_TIME_MS)


def expire_delegation_token(
    context: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error_code=_REFUSED, expiry_timestamp_ms=_NO_TIME_MS)
