"""A connection to one broker on an event loop. Many requests may be under way; responses come in their order."""

from __future__ import annotations

import asyncio
import secrets
import ssl
from contextlib import suppress
from typing import Any

from ...protocol.client import (
    ClientConnection,
    ClientError,
    ConnectionClosedError,
    ConnectionFailed,
    SaslError,
    SaslLogin,
    TlsAlertError,
    UnsupportedApiError,
    VersionsRefusedError,
    opening_requests,
)
from ...protocol.client.sasl import Credentials
from ...protocol.codec import Message
from ...protocol.errors import ErrorCode, KafkaError, error_for
from ..client_settings import ClientSettings
from ..connection import TlsError
from ..failure_causes import cause_of, handshake_cause_of
from ..logins import current_credentials
from ..usable_versions import USABLE

_NONCE_BYTES = 24
_MOST_ITERATIONS = 1_000_000
"""SCRAM's iterations take CPU time on the loop."""
_RENEWED_AT = 0.8
"""The share of a session's lifetime after which the connection is replaced (KIP-368)."""


class AsyncConnection(asyncio.BufferedProtocol):
    """Made by `open_async_connection`. Used on the event loop only."""

    def __init__(self, address: str, client: ClientConnection, loop: asyncio.AbstractEventLoop) -> None:
        self.address = address
        self._client = client
        self._loop = loop
        self._transport: asyncio.Transport | None = None
        self._failure: OSError | None = None
        self._expires_s: float | None = None
        self.under_way = 0

    @property
    def is_usable(self) -> bool:
        """False after the connection broke, and when its login ends soon."""
        return self._failure is None and (self._expires_s is None or self._loop.time() < self._expires_s)

    async def ask(self, request: Message, timeout_ms: int) -> Any:
        """The response to a request.

        Raises ConnectionError when the connection breaks first, TlsError, and TimeoutError; the connection is closed
        then, because responses come in order. Raises UnsupportedApiError when the broker does not serve the API.
        """
        if self._failure is not None or self._transport is None:
            raise ConnectionError(f"{self.address} {self._failure or 'is not connected'}")
        answer: asyncio.Future[Any] = self._loop.create_future()
        try:
            frame = self._client.send(request, token=answer)
        except ConnectionClosedError as error:
            raise ConnectionError(f"{self.address} {error}") from error
        except UnsupportedApiError as error:
            raise UnsupportedApiError(f"{self.address} {error}") from error
        self._transport.write(frame)
        self.under_way += 1
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return await answer
        except TimeoutError:
            self._fail(ConnectionError(f"{self.address} does not answer"))
            raise TimeoutError(f"{self.address} did not answer within {timeout_ms} ms") from None
        finally:
            self.under_way -= 1

    def close(self) -> None:
        """Close the connection. Requests under way fail with ConnectionError."""
        self._fail(ConnectionError("the connection was closed"))

    def session_begins(self, lifetime_ms: int) -> None:
        """The login ends after `lifetime_ms`; 0: never."""
        self._expires_s = self._loop.time() + lifetime_ms / 1000 * _RENEWED_AT if lifetime_ms else None

    # -- called by the transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._client.get_buffer()

    def buffer_updated(self, nbytes: int) -> None:
        for event in self._client.buffer_updated(nbytes):
            if isinstance(event, ConnectionFailed):
                self._fail(_broken(self.address, event.error))
            elif not event.token.done():
                event.token.set_result(event.response)

    def eof_received(self) -> None:
        self._fail(ConnectionError(f"{self.address} closed the connection"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._fail(ConnectionError(f"{self.address} {'closed the connection' if exc is None else exc}"))

    def _fail(self, failure: OSError) -> None:
        if self._failure is None:
            self._failure = failure
        for answer in self._client.abandon():
            if not answer.done():
                answer.set_exception(self._failure)
                answer.exception()  # marks it as seen: perhaps nothing waits for it any more
        if self._transport is not None:
            self._transport.abort()
            self._transport = None


async def open_async_connection(
    host: str, port: int, settings: ClientSettings, max_response_bytes: int
) -> AsyncConnection:
    """Connects, asks for the broker's API versions, and logs in.

    Raises ConnectionError, TimeoutError, TlsError, OptionError, and KafkaError when the login is refused.
    """
    client = ClientConnection(settings.client_id, max_response_bytes, USABLE)
    made = AsyncConnection(f"{host}:{port}", client, asyncio.get_running_loop())
    try:
        await _connect(made, host, port, client, settings)
    except BaseException:
        made.close()
        raise
    return made


async def _connect(
    made: AsyncConnection, host: str, port: int, client: ClientConnection, settings: ClientSettings
) -> None:
    """As `open_async_connection`; after an error the connection may be half open."""
    loop, address = asyncio.get_running_loop(), made.address
    tls = settings.security.tls
    context = None if tls is None else await asyncio.to_thread(tls.context)  # reads files
    try:
        async with asyncio.timeout(settings.connect_timeout_ms / 1000):
            await loop.create_connection(
                lambda: made, host, port, ssl=context, server_hostname=host if context is not None else None
            )
            await _open(made, client, settings)
    except TimeoutError:
        raise TimeoutError(f"no connection to {address} within {settings.connect_timeout_ms} ms") from None
    except KafkaError as error:
        raise error_for(error.code, f"{address}: {error}") from None
    except SaslError as error:
        raise error_for(ErrorCode.SASL_AUTHENTICATION_FAILED, f"{address}: {error}") from None
    except VersionsRefusedError as error:
        raise ConnectionError(f"{address} {error}") from error
    except ssl.SSLError as error:
        raise TlsError(f"no connection to {address}: {handshake_cause_of(error, host)}") from None
    except ConnectionError:
        raise
    except (OSError, UnicodeError) as error:  # UnicodeError: no host can have such a name
        is_advertised = (host, port) not in settings.bootstrap_servers
        cause = cause_of(error, host, is_advertised=is_advertised)
        raise ConnectionError(f"no connection to {address}: {cause}") from None


async def _open(made: AsyncConnection, client: ClientConnection, settings: ClientSettings) -> None:
    sasl = settings.security.sasl
    login = None
    if sasl is not None:
        is_token = not isinstance(sasl, Credentials)  # which may have to be fetched
        credentials = await asyncio.to_thread(current_credentials, sasl) if is_token else current_credentials(sasl)
        login = SaslLogin(credentials, secrets.token_urlsafe(_NONCE_BYTES), _MOST_ITERATIONS)
    requests = opening_requests(client, login)
    request = next(requests)
    with suppress(StopIteration):
        while True:
            request = requests.send(await made.ask(request, settings.request_timeout_ms))
    made.session_begins(client.session_lifetime_ms)


def _broken(address: str, error: ClientError) -> OSError:
    if isinstance(error, TlsAlertError):
        return TlsError(f"{address} {error}: security.protocol must be SSL or SASL_SSL")
    return ConnectionError(f"{address} {error}")
