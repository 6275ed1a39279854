"""Encodes requests and decodes responses of a raw client, for any way of reading and writing."""

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
    """Returns a request frame with its size in front."""
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
    """Returns the decoded response; `frame` is without its size."""
    spec = spec_of(type(request))
    return decode(spec.response_type(), frame, version, offset=5 if spec.response_header_version(version) else 4)


class WireFrames:
    """The frames of a connection that sends one request after another."""

    def __init__(self) -> None:
        self._correlation_id = 0

    def request(self, request: Message, version: int) -> bytes:
        """Returns the next frame to send, with its size."""
        self._correlation_id += 1
        return request_frame(request, version, self._correlation_id, "wire")

    def answer(self, request: Message, version: int, frame: bytes) -> Any:
        """Returns the decoded response; `frame` is without its size."""
        assert struct.unpack_from(">i", frame)[0] == self._correlation_id
        return answer_in(frame, request, version)
