"""Envelope (API 58): a broker passes a client's request on to the controller, with the client's principal (KIP-590).

``request_data`` and ``response_data`` are a whole request and response with their headers.
"""

from ..codec import wire


@wire.message(api_key=58, versions="0", flexible="0+")
class EnvelopeRequest(wire.Message):
    request_data: bytes = wire.blob("0+", default=b"")
    request_principal: bytes | None = wire.blob("0+", nullable="0+", default=b"")
    client_host_address: bytes = wire.blob("0+", default=b"")


@wire.message(api_key=58, versions="0", flexible="0+")
class EnvelopeResponse(wire.Message):
    response_data: bytes | None = wire.blob("0+", nullable="0+", default=None)
    error_code: int = wire.int16("0+", default=0)
