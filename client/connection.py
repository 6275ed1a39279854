"""A blocking connection to one broker."""

from __future__ import annotations

import socket
from collections import deque
from typing import Any

from ..protocol.apis import API_SPECS, ApiKey
from ..protocol.client import (
    ClientConnection,
    ClientError,
    ConnectionClosedError,
    ConnectionFailed,
    Event,
    ResponseReceived,
    SaslError,
    SaslLogin,
    TlsAlertError,
    UnsupportedApiError,
    VersionsRefusedError,
    open_connection,
)
from ..protocol.codec import Message
from ..protocol.errors import ErrorCode, KafkaError, error_for
from .client_settings import ClientSettings
from .failure_causes import WANTS_LOGIN, WANTS_TLS, cause_of, handshake_cause_of, is_closing
from .logins import current_credentials
from .usable_versions import MAX_RESPONSE_BYTES, USABLE

_NONCE_BYTES = 24


class TlsError(OSError):
    """TLS failed and will fail again: a certificate is missing or not trusted, or only one side speaks TLS."""


class Connection:
    """Several requests may be under way; responses come in the same order.

    Raises ConnectionError when the broker is not reached, goes away or is late, and TlsError; the connection is closed
    then.
    """

    def __init__(self, host: str, port: int, settings: ClientSettings) -> None:
        """Connects, asks for the broker's API versions, and logs in. Raises KafkaError when the login is refused."""
        self.address = f"{host}:{port}"
        self._host = host
        self._settings = settings
        self._is_advertised = (host, port) not in settings.bootstrap_servers
        self._has_answered = False
        self._client = ClientConnection(settings.client_id, MAX_RESPONSE_BYTES, USABLE)
        self._events: deque[Event] = deque()
        self._socket = self._connect(host, port)
        try:
            open_connection(self._client, self.ask, self._login())
        except KafkaError as error:
            self.close()
            raise error_for(error.code, f"{self.address}: {error}") from None
        except SaslError as error:
            self.close()
            raise error_for(ErrorCode.SASL_AUTHENTICATION_FAILED, f"{self.address}: {error}") from None
        except VersionsRefusedError as error:
            raise self._broken(error) from error
        except BaseException:
            self.close()
            raise

    def _login(self) -> SaslLogin | None:
        sasl = self._settings.security.sasl
        if sasl is None:
            return None
        from secrets import token_urlsafe  # slow to import

        return SaslLogin(current_credentials(sasl), token_urlsafe(_NONCE_BYTES))

    def close(self) -> None:
        """Close the socket. Requests under way get no response."""
        self._client.abandon()
        self._events.clear()
        self._socket.close()

    @property
    def is_closed(self) -> bool:
        return self._socket.fileno() < 0

    def newest_version(self, api: ApiKey) -> int | None:
        """The newest version of an API that the broker and this client have in common; None: there is none."""
        served = self._client.served
        try:
            return None if served is None else served.newest_common(API_SPECS[api], USABLE.get(api))
        except UnsupportedApiError:
            return None

    def ask(self, request: Message) -> Any:
        """Send a request and return its response. `receive` returns the responses to earlier requests later."""
        token = object()
        earlier: list[Event] = []
        self._send(request, token)
        try:
            while (event := self._next()).token is not token:
                earlier.append(event)
        except KeyboardInterrupt:
            self.close()
            raise
        self._events.extendleft(reversed(earlier))
        return event.response

    def send(self, request: Message) -> None:
        """Send a request; `receive` returns its response."""
        self._send(request, None)

    def receive(self) -> Any:
        """The response to the oldest request under way. Its `records` are views of memory of their own."""
        return self._next().response

    def _send(self, request: Message, token: object) -> None:
        try:
            frame = self._client.send(request, token=token)
        except (ConnectionClosedError, UnsupportedApiError) as error:
            raise ConnectionError(f"{self.address} {error}") from error
        try:
            self._socket.sendall(frame)
        except OSError as error:
            raise self._failed("cannot be written to", error) from error

    def _next(self) -> ResponseReceived:
        while not self._events:
            self._events += self._read()
        event = self._events.popleft()
        if isinstance(event, ConnectionFailed):
            raise self._broken(event.error)
        self._has_answered = self._client.served is not None  # the response to the first ApiVersions proves nothing
        return event

    def _read(self) -> list[Event]:
        try:
            count = self._socket.recv_into(self._client.get_buffer())
        except OSError as error:
            raise self._failed("does not answer", error) from error
        return self._client.buffer_updated(count) if count else self._client.receive_eof()

    def _connect(self, host: str, port: int) -> socket.socket:
        settings = self._settings
        context = None if settings.security.tls is None else settings.security.tls.context()
        try:
            made = socket.create_connection((host, port), timeout=settings.connect_timeout_ms / 1000)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if settings.receive_buffer_bytes is not None:
                made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, settings.receive_buffer_bytes)
        except (OSError, UnicodeError) as error:  # UnicodeError: no host can have such a name
            cause = cause_of(error, host, is_advertised=self._is_advertised)
            raise ConnectionError(f"no connection to {self.address}: {cause}") from error
        if context is not None:
            try:
                made = context.wrap_socket(made, server_hostname=host)
            except (OSError, UnicodeError) as error:
                made.close()
                cause = handshake_cause_of(error, host)
                raise _failure(f"no connection to {self.address}: {cause}", error) from error
        made.settimeout(settings.request_timeout_ms / 1000)
        return made

    def _failed(self, what: str, error: OSError) -> OSError:
        if is_closing(error):
            return self._broken(ConnectionClosedError("closed the connection"))
        self.close()
        return _failure(f"{self.address} {what}: {cause_of(error, self._host)}", error)

    def _broken(self, error: ClientError) -> OSError:
        self.close()
        if isinstance(error, TlsAlertError):
            return TlsError(f"{self.address} {error}: 'kafka.security.protocol' must be SSL or SASL_SSL")
        cause = self._cause_of_closing() if isinstance(error, ConnectionClosedError) else ""
        return ConnectionError(f"{self.address} {error}{cause}")

    def _cause_of_closing(self) -> str:
        security = self._settings.security
        if self._has_answered or security.sasl is not None:
            return ""
        if self._client.served is not None:
            return f"; {WANTS_LOGIN}"
        return f"; {WANTS_TLS}" if security.tls is None else ""


def _failure(text: str, error: Exception) -> OSError:
    """As in Kafka's clients: TlsError (give up) if TLS is refused, ConnectionError (retry) if the broker went away."""
    import ssl  # slow to import

    has_gone = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
    if isinstance(error, ssl.SSLError) and not isinstance(error, has_gone):
        return TlsError(text)
    return ConnectionError(text)
