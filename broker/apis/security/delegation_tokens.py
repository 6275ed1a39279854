"""The APIs of delegation tokens (KIP-48): refused, as by a Kafka broker whose delegation.token.secret.key is not set.

A client that has not authenticated may not ask for tokens, and that comes first. Version 3 of CreateDelegationToken can
ask for a token for another owner; its response also names the requester (KIP-373).
"""

from ....base.acls import AclOperation, AclResourceType
from ....protocol.errors import ErrorCode
from ....protocol.messages.create_delegation_token import CreateDelegationTokenRequest, CreateDelegationTokenResponse
from ....protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from ....protocol.messages.expire_delegation_token import ExpireDelegationTokenRequest, ExpireDelegationTokenResponse
from ....protocol.messages.renew_delegation_token import RenewDelegationTokenRequest, RenewDelegationTokenResponse
from ...requests.context import RequestContext
from ...security.principal import ANONYMOUS, USER, Principal

__all__ = [
    "create_delegation_token",
    "describe_delegation_token",
    "expire_delegation_token",
    "renew_delegation_token",
]

_NO_TIME_MS = -1


def create_delegation_token(
    context: RequestContext, request: CreateDelegationTokenRequest
) -> CreateDelegationTokenResponse:
    requester = context.principal
    owner = Principal(requester.type, requester.name)
    if context.api_version >= 3 and request.owner_principal_name:
        owner = Principal(request.owner_principal_type or "", request.owner_principal_name)
    response = CreateDelegationTokenResponse(
        error_code=_why_not_created(context, request, owner),
        principal_type=owner.type,
        principal_name=owner.name,
        issue_timestamp_ms=_NO_TIME_MS,
        expiry_timestamp_ms=_NO_TIME_MS,
        max_timestamp_ms=_NO_TIME_MS,
    )
    if context.api_version >= 3:
        response.token_requester_principal_type = requester.type
        response.token_requester_principal_name = requester.name
    return response


def _why_not_created(context: RequestContext, request: CreateDelegationTokenRequest, owner: Principal) -> ErrorCode:
    code = _why_refused(context)
    if code is ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED:
        return code
    is_own = owner == context.principal
    if not is_own and not context.may(AclOperation.CREATE_TOKENS, AclResourceType.USER, str(owner)):
        return ErrorCode.DELEGATION_TOKEN_AUTHORIZATION_FAILED
    if any(renewer.principal_type != USER for renewer in request.renewers):
        return ErrorCode.INVALID_PRINCIPAL_TYPE
    return code


def renew_delegation_token(
    context: RequestContext, request: RenewDelegationTokenRequest
) -> RenewDelegationTokenResponse:
    return RenewDelegationTokenResponse(error_code=_why_refused(context), expiry_timestamp_ms=_NO_TIME_MS)


def expire_delegation_token(
    context: RequestContext, request: ExpireDelegationTokenRequest
) -> ExpireDelegationTokenResponse:
    return ExpireDelegationTokenResponse(error_code=_why_refused(context), expiry_timestamp_ms=_NO_TIME_MS)


def describe_delegation_token(
    context: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=_why_refused(context))


def _why_refused(context: RequestContext) -> ErrorCode:
    protocol = context.address.security_protocol
    if protocol == "PLAINTEXT" or (protocol == "SSL" and context.principal == ANONYMOUS):
        return ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED
    return ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED
