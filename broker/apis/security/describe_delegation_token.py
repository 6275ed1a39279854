"""DescribeDelegationToken (KIP-48): refused. Listeners are PLAINTEXT, where nobody knows who asks."""

from ....protocol.errors import ErrorCode
from ....protocol.messages.describe_delegation_token import (
    DescribeDelegationTokenRequest,
    DescribeDelegationTokenResponse,
)
from ...requests.context import RequestContext

__all__ = ["describe_delegation_token"]


def describe_delegation_token(
    context: RequestContext, request: DescribeDelegationTokenRequest
) -> DescribeDelegationTokenResponse:
    return DescribeDelegationTokenResponse(error_code=ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
