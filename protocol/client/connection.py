"""One client connection without I/O: requests become bytes, received bytes become responses in the order of requests.

Every byte that arrives may be hostile. The first error in the bytes gives exactly one `ConnectionFailed`, behind the
responses that came before it, however the bytes are cut into pieces.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import cache
from struct import Struct
from typing import Any, NamedTuple

from ...base.frozen import frozen
from ..apis import API_SPECS, ApiKey, ApiSpec
from ..codec import DecodeError, Message, decode, decode_prefix, encode
from ..codec.schema import VersionRange
from ..messages.headers import RequestHeader, ResponseHeader
from ..messages.produce import ProduceRequest
from .errors import (
    ClientError,
    ConnectionClosedError,
    ResponseDecodeError,
    ResponseSizeError,
    TlsAlertError,
    UnexpectedResponseError,
    UnsupportedApiError,
)
from .frame_buffer import FrameBuffer
from .served_versions import ServedVersions

__all__ = ["MAX_OPENING_RESPONSE_BYTES", "ClientConnection", "ConnectionFailed", "Event", "ResponseReceived"]

MAX_OPENING_RESPONSE_BYTES = 1024 * 1024
"""The largest response to ApiVersions, SaslHandshake or SaslAuthenticate."""

_SIZE = Struct(">i")
_LEAST_RESPONSE_BYTES = 4  # the correlation id
_MAX_CORRELATION_ID = 2**31 - 1
_TLS_ALERT = 0x1503  # content type and major version of a TLS record, where the size of a response should be
_HTTP = int.from_bytes(b"HTTP")
_OPENING_APIS = frozenset({ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE})
_SASL_HANDSHAKE_V1 = VersionRange(1, 1)  # after v0 raw SASL tokens would follow (KIP-152)


@frozen
class ResponseReceived:
    """``response`` answers the request that was sent with ``token``. Its ``records`` are views of memory of its own."""

    response: Any
    token: Any


@frozen
class ConnectionFailed:
    """The connection cannot be used any more, and the caller closes it."""

    error: ClientError


Event = ResponseReceived | ConnectionFailed


class ClientConnection:
    """The requests under way on one connection, and the response that is arriving.

    ``usable`` restricts the versions of APIs that the client can work with. ``served`` is what negotiation knows of the
    broker; until `opening_requests` sets it, only ApiVersions goes out without an explicit version, as version 0, which
    every broker answers. ``session_lifetime_ms``: after so long the broker closes the connection unless the client logs
    in again (KIP-368); 0: never.
    """

    def __init__(
        self, client_id: str | None, max_response_bytes: int, usable: Mapping[ApiKey, VersionRange] | None = None
    ) -> None:
        self.served: ServedVersions | None = None
        self.session_lifetime_ms = 0
        self._client_id = client_id
        self._max_response_bytes = max_response_bytes
        self._usable = {ApiKey.SASL_HANDSHAKE: _SASL_HANDSHAKE_V1} | dict(usable or {})
        self._frames = FrameBuffer()
        self._awaiting: deque[_Sent] = deque()
        self._correlation_id = 0
        self._is_first_response = True
        self._failure: ClientError | None = None

    def send(self, request: Message, version: int | None = None, token: Any = None) -> bytes:
        """The frame of a request; its response will come with ``token``. A Produce request with acks=0 has none.

        ``version`` None: the newest that both sides have. Raises ConnectionClosedError, UnsupportedApiError, and
        EncodeError when the request cannot be encoded in that version; nothing is changed then.
        """
        if self._failure is not None:
            raise ConnectionClosedError("is not connected any more") from self._failure
        spec = _spec_of(type(request))
        form = _form(spec.key, self._negotiated(spec) if version is None else version)
        correlation_id = self._correlation_id % _MAX_CORRELATION_ID + 1
        header = RequestHeader(
            request_api_key=form.spec.key,
            request_api_version=form.version,
            correlation_id=correlation_id,
            client_id=self._client_id,
        )
        head, body = encode(header, form.request_header_version), encode(request, form.version)
        self._correlation_id = correlation_id
        if not (isinstance(request, ProduceRequest) and request.acks == 0):
            self._awaiting.append(_Sent(form, correlation_id, token))
        return b"".join((_SIZE.pack(len(head) + len(body)), head, body))

    def receive(self, data: bytes | bytearray | memoryview) -> list[Event]:
        """Returns the events that ``data`` completes. Bytes behind a failure are ignored."""
        events: list[Event] = []
        rest = memoryview(data)
        while rest and self._failure is None:
            with self.get_buffer() as buffer:
                count = min(len(buffer), len(rest))
                buffer[:count] = rest[:count]
            events += self.buffer_updated(count)
            rest = rest[count:]
        return events

    def get_buffer(self) -> memoryview:
        """Memory to read into, for a caller that avoids a copy. It goes with `buffer_updated`, as in asyncio's
        BufferedProtocol, and must be released before the next call."""
        return self._frames.get_buffer()

    def buffer_updated(self, count: int) -> list[Event]:
        """Returns the events that the ``count`` bytes in the buffer complete."""
        if self._failure is not None:
            return []
        events: list[Event] = []
        self._frames.received(count)
        try:
            while (size := self._frames.size) is not None:
                self._check_size(size)
                frame = self._frames.take()
                if frame is None:
                    break
                events.append(self._response_in(frame))
        except ClientError as error:
            events.append(self._failed(error))
        return events

    def receive_eof(self) -> list[Event]:
        """The broker closed its side of the connection."""
        return [] if self._failure is not None else [self._failed(ConnectionClosedError("closed the connection"))]

    def abandon(self) -> list[Any]:
        """End the connection from this side, or after a failure; returns the tokens of requests without a response."""
        if self._failure is None:
            self._failed(ConnectionClosedError("is not connected any more"))
        tokens = [sent.token for sent in self._awaiting]
        self._awaiting.clear()
        return tokens

    def _negotiated(self, spec: ApiSpec) -> int:
        if self.served is not None:
            return self.served.newest_common(spec, self._usable.get(spec.key))
        if spec.key is not ApiKey.API_VERSIONS:
            raise UnsupportedApiError(f"has not listed its versions of {spec.name} yet")
        return 0

    def _check_size(self, size: int) -> None:
        if not self._awaiting:
            raise UnexpectedResponseError("sent a response to no request")
        most = self._max_response_bytes
        if self._awaiting[0].form.spec.key in _OPENING_APIS:
            most = min(most, MAX_OPENING_RESPONSE_BYTES)
        if not _LEAST_RESPONSE_BYTES <= size <= most:
            is_tls_alert = self._is_first_response and size >> 16 == _TLS_ALERT
            if self._is_first_response and size == _HTTP:
                raise ResponseSizeError(size, "speaks HTTP: it is not a port of a Kafka broker")
            raise TlsAlertError(size) if is_tls_alert else ResponseSizeError(size)

    def _response_in(self, frame: bytearray) -> ResponseReceived:
        sent = self._awaiting[0]
        try:
            response = _decode(sent, frame)
        except DecodeError as error:
            what = f"sent a response to {sent.form.spec.name} that cannot be decoded: {error}"
            raise ResponseDecodeError(what) from error
        self._awaiting.popleft()
        self._is_first_response = False
        return ResponseReceived(response, sent.token)

    def _failed(self, error: ClientError) -> ConnectionFailed:
        self._failure = error
        self._frames.clear()
        return ConnectionFailed(error)


class _Form(NamedTuple):
    """One version of one API on the wire."""

    spec: ApiSpec
    version: int
    request_header_version: int
    response_header_version: int
    response_type: type[Message]


class _Sent(NamedTuple):
    """A request that awaits its response."""

    form: _Form
    correlation_id: int
    token: Any


@cache
def _form(key: ApiKey, version: int) -> _Form:
    spec = API_SPECS[key]
    return _Form(
        spec,
        version,
        spec.request_header_version(version),
        spec.response_header_version(version),
        spec.response_type(),
    )


def _spec_of(request_type: type[Message]) -> ApiSpec:
    key = request_type.MESSAGE.api_key
    if key is None:
        raise TypeError(f"{request_type.__name__} is not a request")
    return API_SPECS[ApiKey(key)]


def _decode(sent: _Sent, frame: bytearray) -> Message:
    """Raises DecodeError, also when the response belongs to another request."""
    form = sent.form
    header, offset = decode_prefix(ResponseHeader, frame, form.response_header_version)
    if header.correlation_id != sent.correlation_id:
        raise DecodeError(f"its correlation id is {header.correlation_id}, not {sent.correlation_id}")
    return decode(form.response_type, frame, form.version, offset=offset)
