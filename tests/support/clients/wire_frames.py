"""What a raw client puts on the wire and takes off it, whichever way it reads and writes."""

import struct
from typing import Any

from pybroker.protocol.apis import API_SPECS, ApiSpec
from pybroker.protocol.codec import Message, decode, encode
from pybroker.protocol.messages.headers import RequestHeader

__all__ = ["WireFrames", "answer_in", "request_frame", "spec_of"]


_spec_of_type: dict[type[Message], ApiSpec] = {}


def spec_of(request_type: type[Message]) -> ApiSpec:
    if request_type not in _spec_of_type:
        _spec_of_type[request_type] = next(spec for spec in API_SPECS.values() if spec.request_type() is request_type)
    return _spec_of_type[request_type]


def request_frame(request: Message, version: int, correlation_id: int, client_id: str) -> bytes:
    """A request as it goes over the wire, its size in front."""
    spec = spec_of(type(request))
    header = RequestHeader(
        request_api_key=int(spec.key),
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    frame = encode(header, spec.request_header_version(version)) + encode(request, version)
    return struct.pack(">i", len(frame)) + frame


def answer_in(frame: bytes, request: Message, version: int) -> Any:
    """What the broker said to that request; ``frame`` is without its size."""
    spec = spec_of(type(request))
    return decode(spec.response_type(), frame, version, offset=5 if spec.response_header_version(version) else 4)


class WireFrames:
    """The frames of one connection that asks one thing after another."""

    def __init__(self) -> None:
        self._correlation_id = 0

    def request(self, request: Message, version: int) -> bytes:
        """The next frame to send, with its size."""
        self._correlation_id += 1
        return request_frame(request, version, self._correlation_id, "wire")

    def answer(self, request: Message, version: int, frame: bytes) -> Any:
        """What the broker said to that request; ``frame`` is without its size."""
        assert struct.unpack_from(">i", frame)[0] == self._correlation_id
        return answer_in(frame, request, version)
