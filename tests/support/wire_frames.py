"""What a raw client puts on the wire and takes off it, whichever way it reads and writes."""

import struct
from typing import Any

from pybroker.protocol.apis import API_SPECS, ApiSpec
from pybroker.protocol.codec import Message, decode, encode
from pybroker.protocol.messages.headers import RequestHeader

__all__ = ["WireFrames"]


_spec_of_type: dict[type[Message], ApiSpec] = {}


def _spec_of(request: Message) -> ApiSpec:
    kind = type(request)
    if kind not in _spec_of_type:
        _spec_of_type[kind] = next(spec for spec in API_SPECS.values() if spec.request_type() is kind)
    return _spec_of_type[kind]


class WireFrames:
    """The frames of one connection that asks one thing after another."""

    def __init__(self) -> None:
        self._correlation_id = 0

    def request(self, request: Message, version: int) -> bytes:
        """The next frame to send, with its size."""
        spec = _spec_of(request)
        self._correlation_id += 1
        header = RequestHeader(
            request_api_key=int(spec.key),
            request_api_version=version,
            correlation_id=self._correlation_id,
            client_id="wire",
        )
        frame = encode(header, spec.request_header_version(version)) + encode(request, version)
        return struct.pack(">i", len(frame)) + frame

    def answer(self, request: Message, version: int, frame: bytes) -> Any:
        """What the broker said to that request; ``frame`` is without its size."""
        spec = _spec_of(request)
        assert struct.unpack_from(">i", frame)[0] == self._correlation_id
        return decode(spec.response_type(), frame, version, offset=5 if spec.response_header_version(version) else 4)
