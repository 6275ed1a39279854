"""The headers before every request and response body.

Request headers: v0 has no client id and belongs to ControlledShutdown v0 alone, v1 has one, v2 is flexible. The client
id keeps its int16 length even in v2, since any broker must be able to read the header of an ApiVersions request of any
version. Response headers: v0 is the correlation id alone, v1 is flexible. `apis.ApiSpec` says which
header version each API version uses.
"""

from ..codec import wire


@wire.message(versions="0-2", flexible="2+")
class RequestHeader(wire.Message):
    request_api_key: int = wire.int16("0+", default=0)
    request_api_version: int = wire.int16("0+", default=0)
    correlation_id: int = wire.int32("0+", default=0)
    client_id: str | None = wire.string("1+", nullable="1+", default="", ignorable=True, flexible="none")


@wire.message(versions="0-1", flexible="1+")
class ResponseHeader(wire.Message):
    correlation_id: int = wire.int32("0+", default=0)
