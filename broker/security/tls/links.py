"""Opens TLS connections to other brokers."""

import asyncio
import ssl
from collections.abc import Callable
from typing import TypeVar

from .engine import TlsEngine
from .failures import TlsFailure
from .side import EncryptedConnection, TlsSide
from .transport import TlsTransport

__all__ = ["TlsHandshakeError", "connect"]

_Protocol = TypeVar("_Protocol", bound=asyncio.BufferedProtocol)


class TlsHandshakeError(ConnectionError):
    """The handshake failed; the text names the other side and says why."""

    def __init__(self, host: str, port: int, failure: TlsFailure) -> None:
        super().__init__(f"no TLS connection to {host}:{port}: {failure}")
        self.failure = failure


class _Outcome:
    """Waits for the end of the handshake. Failures after it are reported: TLS 1.3 refuses client certificates late."""

    def __init__(self, loop: asyncio.AbstractEventLoop, report: Callable[[TlsFailure], None]) -> None:
        self.established_or_failed: asyncio.Future[TlsFailure | None] = loop.create_future()
        self._report = report

    def established(self, connection: EncryptedConnection) -> None:
        if self.established_or_failed.done():
            connection.abort()
        else:
            self.established_or_failed.set_result(None)

    def failed(self, connection: EncryptedConnection, failure: TlsFailure) -> None:
        if not self.established_or_failed.done():
            self.established_or_failed.set_result(failure)
        elif not self.established_or_failed.cancelled():
            self._report(failure)


async def connect(
    loop: asyncio.AbstractEventLoop,
    new_protocol: Callable[[], _Protocol],
    host: str,
    port: int,
    *,
    context: ssl.SSLContext,
    ciphertext: bytearray,
    deadline_s: float,
    report: Callable[[TlsFailure], None],
) -> _Protocol:
    """The protocol of a new connection whose handshake is complete.

    ``ciphertext``: a buffer of `CIPHERTEXT_BYTES`, which all TLS connections of the loop share. The server's
    certificate must be for ``host``, if the context checks names. ``report`` gets a failure of the open connection.

    Raises:
        TlsHandshakeError: the handshake failed.
        OSError: there is no TCP connection, or no certificate can be for the host.
    """
    _check_name(context, host, port)
    outcome = _Outcome(loop, report)
    side = TlsSide(context, outcome, loop, ciphertext, deadline_s=deadline_s, server_hostname=host)
    protocol = new_protocol()
    _, transport = await loop.create_connection(lambda: TlsTransport(protocol, side), host, port)
    failure = await _end_of_handshake(outcome, transport)
    if failure is not None:
        raise TlsHandshakeError(host, port, failure)
    return protocol


def _check_name(context: ssl.SSLContext, host: str, port: int) -> None:
    """Raise ConnectionError if OpenSSL cannot look for the host in a certificate; some host names are too long."""
    try:
        TlsEngine(context, server_side=False, server_hostname=host)
    except ValueError as error:
        raise ConnectionError(f"no TLS connection to {host}:{port}: {error}") from None


async def _end_of_handshake(outcome: _Outcome, transport: TlsTransport) -> TlsFailure | None:
    try:
        return await outcome.established_or_failed
    except asyncio.CancelledError:
        transport.abort()
        raise
