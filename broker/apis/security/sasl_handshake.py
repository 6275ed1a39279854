"""SaslHandshake: on a PLAINTEXT listener there is nothing to shake hands about, in v0 and in v1 (KIP-152)."""

from ....protocol.errors import ErrorCode
from ....protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from ...requests.context import RequestContext

__all__ = ["sasl_handshake"]


def sasl_handshake(context: RequestContext, request: SaslHandshakeRequest) -> SaslHandshakeResponse:
    """Without mechanisms, as Kafka answers: none would work on this listener."""
    return SaslHandshakeResponse(error_code=ErrorCode.ILLEGAL_SASL_STATE)
