"""One connection to a broker: a request goes out, its answer comes back. Several may be under way, in order."""

from __future__ import annotations

import socket
import ssl
from collections import deque
from struct import Struct
from typing import Any, NamedTuple

from ...protocol.apis import API_SPECS, ApiKey, ApiSpec
from ...protocol.codec import DecodeError, Message, decode, decode_prefix, encode
from ...protocol.errors import ErrorCode, error_for
from ...protocol.messages.api_versions import ApiVersionsRequest
from ...protocol.messages.headers import RequestHeader, ResponseHeader
from ...protocol.messages.sasl_authenticate import SaslAuthenticateRequest
from ...protocol.messages.sasl_handshake import SaslHandshakeRequest
from ..options.kafka_settings import ReaderSettings
from ..options.security_settings import SaslSettings
from .sasl import LoginError, login

_SIZE = Struct(">i")
_MAX_ANSWER_BYTES = (1 << 31) - 1
_TLS_ALERT = 0x1503
"""How a broker begins that speaks TLS and was spoken to in plain text: type and version of the record."""
_MAX_CORRELATION_ID = (1 << 31) - 1

NEWEST = {
    ApiKey.FETCH: 12,  # from 13 on topics go by id, and whoever reads knows names
    ApiKey.METADATA: 9,
    ApiKey.FIND_COORDINATOR: 3,  # from 4 on several keys at once
}
"""The newest version asked for, where that is not the newest that `protocol/` knows."""


class TlsError(OSError):
    """TLS failed, and will again: a certificate is not trusted or is missing, or only one side speaks TLS."""


class _Sent(NamedTuple):
    spec: ApiSpec
    version: int
    correlation_id: int


class Connection:
    """Raises ConnectionError when the broker is not reached, goes away or is not in time, TlsError; is closed then."""

    def __init__(self, host: str, port: int, settings: ReaderSettings) -> None:
        """Connects, asks which versions the broker serves, and logs in. Raises KafkaError for a login that fails."""
        self.address = f"{host}:{port}"
        self._settings = settings
        self._sent: deque[_Sent] = deque()
        self._correlation_id = 0
        self._has_answered = False
        self._socket = self._connect(host, port)
        self._versions: dict[int, tuple[int, int]] = {}
        try:
            self._learn_versions()
            if settings.security.sasl is not None:
                self._log_in(settings.security.sasl)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Requests under way are given up."""
        self._sent.clear()
        self._socket.close()

    @property
    def is_closed(self) -> bool:
        return self._socket.fileno() < 0

    def ask(self, request: Message) -> Any:
        """The answer to one request, with none other under way."""
        self.send(request)
        return self.receive()

    def send(self, request: Message) -> None:
        """Puts a request on its way; `receive` has its answer."""
        spec = _spec_of(type(request))
        version = self._version(spec)
        self._correlation_id = self._correlation_id % _MAX_CORRELATION_ID + 1
        header = RequestHeader(
            request_api_key=int(spec.key),
            request_api_version=version,
            correlation_id=self._correlation_id,
            client_id=self._settings.client_id,
        )
        frame = encode(header, spec.request_header_version(version)) + encode(request, version)
        try:
            self._socket.sendall(_SIZE.pack(len(frame)) + frame)
        except OSError as error:
            raise self._failed("cannot be written to", error) from error
        self._sent.append(_Sent(spec, version, self._correlation_id))

    def receive(self) -> Any:
        """The answer to the oldest request under way. Its `records` are views of memory of their own."""
        sent = self._sent[0]
        frame = self._receive_frame()
        try:
            header, offset = decode_prefix(ResponseHeader, frame, sent.spec.response_header_version(sent.version))
            if header.correlation_id != sent.correlation_id:
                raise DecodeError(f"it is of request {header.correlation_id}, not {sent.correlation_id}")
            answer = decode(sent.spec.response_type(), frame, sent.version, offset=offset)
        except DecodeError as error:
            raise self._broken(f"gave an answer to {sent.spec.name} that cannot be read: {error}") from error
        self._sent.popleft()
        self._has_answered = True
        return answer

    def _connect(self, host: str, port: int) -> socket.socket:
        settings = self._settings
        context = None if settings.security.tls is None else settings.security.tls.context()
        try:
            made = socket.create_connection((host, port), timeout=settings.connect_timeout_ms / 1000)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if settings.receive_buffer_bytes is not None:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, settings.receive_buffer_bytes)
            if context is not None:
                made = context.wrap_socket(made, server_hostname=host)
        except OSError as error:
            raise _failure(f"no connection to {self.address}", error) from error
        made.settimeout(settings.request_timeout_ms / 1000)
        return made

    def _learn_versions(self) -> None:
        # Version 0 is what every broker answers.
        self._versions[ApiKey.API_VERSIONS] = (0, 0)
        answer = self.ask(ApiVersionsRequest())
        if answer.error_code:
            raise self._broken(f"says nothing of its versions: error {answer.error_code}")
        self._versions |= {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
        self._versions[ApiKey.API_VERSIONS] = (0, 0)

    def _log_in(self, sasl: SaslSettings) -> None:
        handshake = self.ask(SaslHandshakeRequest(mechanism=sasl.mechanism))
        if handshake.error_code:
            has = ", ".join(handshake.mechanisms)
            raise error_for(handshake.error_code, f"{self.address} has not {sasl.mechanism} but {has}")
        steps = login(sasl)
        said = next(steps)
        try:
            while True:
                answer = self.ask(SaslAuthenticateRequest(auth_bytes=said))
                if answer.error_code:
                    raise error_for(answer.error_code, f"{self.address}: {answer.error_message}")
                said = steps.send(bytes(answer.auth_bytes))
        except StopIteration:
            return
        except LoginError as error:
            raise error_for(ErrorCode.SASL_AUTHENTICATION_FAILED, f"{self.address}: {error}") from None

    def _version(self, spec: ApiSpec) -> int:
        first, last = self._versions.get(spec.key, (0, -1))
        version = min(last, NEWEST.get(spec.key, spec.max_version))
        if version < max(first, spec.min_version):
            raise ConnectionError(f"{self.address} serves no version of {spec.name} that is known here")
        return version

    def _receive_frame(self) -> memoryview:
        (size,) = _SIZE.unpack(self._receive_bytes(_SIZE.size))
        if size >> 16 == _TLS_ALERT and not self._has_answered:
            self.close()
            raise TlsError(f"{self.address} speaks TLS: 'kafka.security.protocol' must be SSL or SASL_SSL")
        if not 0 < size <= _MAX_ANSWER_BYTES:
            raise self._broken(f"sent an answer of {size} bytes")
        return self._receive_bytes(size)

    def _receive_bytes(self, size: int) -> memoryview:
        buffer = memoryview(bytearray(size))
        received = 0
        while received < size:
            try:
                count = self._socket.recv_into(buffer[received:])
            except OSError as error:
                raise self._failed("does not answer", error) from error
            if count == 0:
                raise self._broken("closed the connection")
            received += count
        return buffer

    def _failed(self, what: str, error: OSError) -> OSError:
        self.close()
        return _failure(f"{self.address} {what}", error)

    def _broken(self, reason: str) -> ConnectionError:
        self.close()
        return ConnectionError(f"{self.address} {reason}")


def _failure(what: str, error: OSError) -> OSError:
    """As Kafka's clients, which give up where TLS is refused, and try again where the broker went away in between."""
    has_gone = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
    if isinstance(error, ssl.SSLError) and not isinstance(error, has_gone):
        return TlsError(f"{what}: {error}")
    return ConnectionError(f"{what}: {error}")


def _spec_of(request_type: type[Message]) -> ApiSpec:
    key = request_type.MESSAGE.api_key
    if key is None:
        raise TypeError(f"{request_type.__name__} is no request")
    return API_SPECS[ApiKey(key)]
