"""Finds out which protocol a port speaks.

**How.** The probe sends ApiVersions in plain text, then in TLS, then an HTTP request, each on a connection of its own,
until one is understood. It sends no password, and it trusts nothing that it reads.
"""

import socket
import ssl
import struct
import time
from dataclasses import replace

from ...client.client_settings import ClientSettings
from ...client.given_options import OptionError
from ...protocol.apis import ApiKey
from ...protocol.errors import ErrorCode
from .shapes import PortFacts, PortKind

__all__ = ["probe_port"]

_MOST_PROBE_S = 3.0
"""A port that says nothing for so long does not understand."""
_MAX_RESPONSE_BYTES = 64 << 10
_CORRELATION_ID = 0x7079
_CLIENT_ID = b"pybroker-doctor"
_TLS_ALERT = b"\x15\x03"
_HTTP_REQUEST = b"HEAD / HTTP/1.0\r\n\r\n"
_DAY_S = 86_400


def probe_port(host: str, port: int, settings: ClientSettings) -> PortFacts:
    """The facts about a port. Network errors are facts too."""
    facts = PortFacts(host=host, port=port, versions={})
    timeout_s = settings.connect_timeout_ms / 1000
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:  # a label of the name is too long
        return replace(facts, failure=f"{host} does not resolve: {_words(error)}")
    facts = replace(facts, resolved=tuple(dict.fromkeys(str(each[4][0]) for each in found)))
    began = time.monotonic()
    try:
        _connected(facts, timeout_s).close()
    except OSError as error:
        return replace(facts, failure=f"{facts.address} does not let this machine connect: {_words(error)}")
    facts = replace(facts, connect_ms=(time.monotonic() - began) * 1000)
    facts = _with_protocol(facts, settings, min(timeout_s, _MOST_PROBE_S))
    return _with_certificate(facts, settings, min(timeout_s, _MOST_PROBE_S))


def _with_protocol(facts: PortFacts, settings: ClientSettings, timeout_s: float) -> PortFacts:
    sasl = settings.security.sasl
    mechanism = "PLAIN" if sasl is None else getattr(sasl, "mechanism", "OAUTHBEARER")
    in_plain, first_bytes = _asked(facts, None, mechanism, timeout_s)
    if in_plain is not None:
        return in_plain
    if first_bytes.startswith(b"HTTP/"):
        return replace(facts, kind=PortKind.HTTP)
    in_tls, bytes_in_tls = _asked(facts, _trusting_context(settings), mechanism, timeout_s)
    if in_tls is not None:
        return in_tls
    if bytes_in_tls.startswith(b"HTTP/"):
        return replace(facts, kind=PortKind.HTTPS)
    if bytes_in_tls or first_bytes.startswith(_TLS_ALERT):  # TLS that perhaps wants a certificate of the client
        return replace(facts, kind=PortKind.TLS)
    in_http = _first_bytes(facts, _HTTP_REQUEST, timeout_s)
    return replace(facts, kind=PortKind.HTTP if in_http.startswith(b"HTTP/") else PortKind.UNKNOWN)


def _asked(
    facts: PortFacts, context: ssl.SSLContext | None, mechanism: str, timeout_s: float
) -> tuple[PortFacts | None, bytes]:
    """The facts with what a Kafka broker says of itself; None, and the first bytes of something else.

    With a context the first bytes of a peer that speaks TLS are a TLS alert, when it says nothing within TLS.
    """
    deadline = time.monotonic() + timeout_s
    has_tls = False
    body = b""
    try:
        with _connected(facts, timeout_s) as plain:
            connection = plain if context is None else context.wrap_socket(plain, server_hostname=facts.host)
            has_tls = context is not None
            with connection:
                body, other = _exchanged(connection, ApiKey.API_VERSIONS, 0, b"", deadline)
                versions = _versions_in(body)
                if versions is None:
                    return None, other or (_TLS_ALERT if has_tls else b"")
                kind = PortKind.TLS if has_tls else PortKind.PLAIN
                if ApiKey.PRODUCE not in versions:
                    kind = PortKind.CONTROLLER
                found = replace(facts, kind=kind, versions=versions)
                name = struct.pack(">h", len(mechanism)) + mechanism.encode()
                try:
                    body, _ = _exchanged(connection, ApiKey.SASL_HANDSHAKE, 1, name, deadline)
                except OSError:
                    return found, b""
                return replace(found, mechanisms=_mechanisms_in(body)), b""
    except ssl.SSLError as error:
        return None, _TLS_ALERT if has_tls or "ALERT" in (error.reason or "") else b""
    except OSError:
        return None, _TLS_ALERT if has_tls else b""


def _exchanged(
    connection: socket.socket, api: ApiKey, version: int, body: bytes, deadline: float
) -> tuple[bytes, bytes]:
    """The body of the response, or nothing and the bytes that are no response. Raises OSError."""
    head = struct.pack(">hhih", api, version, _CORRELATION_ID, len(_CLIENT_ID)) + _CLIENT_ID + body
    connection.sendall(struct.pack(">i", len(head)) + head)
    received = b""
    while len(received) < _MAX_RESPONSE_BYTES:
        connection.settimeout(max(deadline - time.monotonic(), 0.001))
        try:
            piece = connection.recv(_MAX_RESPONSE_BYTES)
        except TimeoutError:
            break
        received += piece
        if not piece:
            break
        if len(received) >= 8:
            size, correlation_id = struct.unpack_from(">ii", received)
            if correlation_id != _CORRELATION_ID or not 4 <= size <= _MAX_RESPONSE_BYTES:
                break
            if len(received) >= 4 + size:
                return received[8 : 4 + size], b""
    return b"", received


def _versions_in(body: bytes) -> dict[int, tuple[int, int]] | None:
    """The versions in a response to ApiVersions v0; None: it is none."""
    try:
        error, count = struct.unpack_from(">hi", body)
        if error or not 0 < count <= 1000:
            return None
        rows = (struct.unpack_from(">hhh", body, 6 + 6 * row) for row in range(count))
        return {key: (oldest, newest) for key, oldest, newest in rows}
    except struct.error:
        return None


def _mechanisms_in(body: bytes) -> tuple[str, ...] | None:
    """The mechanisms in a response to SaslHandshake; None: the listener wants no login."""
    try:
        error, count = struct.unpack_from(">hi", body)
        if error not in (ErrorCode.NONE, ErrorCode.UNSUPPORTED_SASL_MECHANISM) or not 0 <= count <= 100:
            return None
        names, at = [], 6
        for _ in range(count):
            (length,) = struct.unpack_from(">h", body, at)
            names.append(body[at + 2 : at + 2 + max(length, 0)].decode("ascii", "replace"))
            at += 2 + max(length, 0)
        return tuple(sorted(names))
    except struct.error:
        return None


def _first_bytes(facts: PortFacts, request: bytes, timeout_s: float) -> bytes:
    try:
        with _connected(facts, timeout_s) as connection:
            connection.sendall(request)
            return connection.recv(_MAX_RESPONSE_BYTES)
    except OSError:
        return b""


def _with_certificate(facts: PortFacts, settings: ClientSettings, timeout_s: float) -> PortFacts:
    """Add whether the client's settings accept the certificate of a port with TLS."""
    tls = settings.security.tls
    if tls is None or facts.kind is not PortKind.TLS:
        return facts
    try:
        with (
            _connected(facts, timeout_s) as plain,
            tls.context().wrap_socket(plain, server_hostname=facts.host) as connection,
        ):
            certificate = connection.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        return replace(facts, certificate_failure=error.verify_message)
    except (OSError, OptionError) as error:
        return replace(facts, certificate_failure=_words(error))
    ends = certificate.get("notAfter")
    if not isinstance(ends, str):
        return facts
    return replace(facts, certificate_days=(ssl.cert_time_to_seconds(ends) - time.time()) / _DAY_S)


def _trusting_context(settings: ClientSettings) -> ssl.SSLContext:
    """A context that accepts every certificate: the probe only asks which protocol is spoken."""
    tls = settings.security.tls
    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT) if tls is None else tls.context()
    except OptionError:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _connected(facts: PortFacts, timeout_s: float) -> socket.socket:
    return socket.create_connection((facts.host, facts.port), timeout=timeout_s)


def _words(error: Exception) -> str:
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__).lower()
