"""SaslHandshake (API 17): the client names its SASL mechanism, the broker lists those it knows.

- v0: raw SASL tokens follow on the connection. v1: SaslAuthenticate requests follow (KIP-152).

There is no flexible version: old clients guess wrongly when a newer one is offered (KAFKA-9577).
"""

from ..codec import wire


@wire.message(api_key=17, versions="0-1", flexible="none")
class SaslHandshakeRequest(wire.Message):
    mechanism: str = wire.string("0+", default="")


@wire.message(api_key=17, versions="0-1", flexible="none")
class SaslHandshakeResponse(wire.Message):
    error_code: int = wire.int16("0+", default=0)
    mechanisms: list[str] = wire.array(wire.STRING, "0+", default_factory=list)
