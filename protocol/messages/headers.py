"""Headers."""

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
