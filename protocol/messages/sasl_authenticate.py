"""SaslAuthenticate (API 36): one step of the SASL exchange (KIP-152).

- v1: how long the session lasts before the client must authenticate again (KIP-368). v2: flexible.
"""

from ..codec import wire


@wire.message(api_key=36, versions="0-2", flexible="2+")
class SaslAuthenticateRequest(wire.Message):
    auth_bytes: bytes = wire.blob("0+", default=b"")


@wire.message(api_key=36, versions="0-2", flexible="2+")
class SaslAuthenticateResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    error_message: str | None = wire.string("0+", nullable="0+", default="")
    auth_bytes: bytes = wire.blob("0+", default=b"")
    session_lifetime_ms: int = wire.int64("1+", default=0, ignorable=True)
