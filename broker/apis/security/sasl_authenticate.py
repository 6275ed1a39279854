"""SaslAuthenticate (KIP-152): on a PLAINTEXT listener nobody authenticates.

v1 how long a session lasts (KIP-368) · v2 flexible.
"""

from ....protocol.errors import ErrorCode
from ....protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from ...requests.context import RequestContext

__all__ = ["sasl_authenticate"]


def sasl_authenticate(context: RequestContext, request: SaslAuthenticateRequest) -> SaslAuthenticateResponse:
    return SaslAuthenticateResponse(
        error_code=ErrorCode.ILLEGAL_SASL_STATE,
        error_message="SaslAuthenticate request received after successful authentication",
    )
