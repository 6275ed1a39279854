"""Recognises clients that do not speak Kafka by their first bytes."""

from ...base.frozen import frozen
from .offender_log import Violation

__all__ = ["OtherProtocol", "recognise"]

_HTTP_METHODS = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PATC", b"CONN", b"TRAC", b"PRI ")
_TLS_HANDSHAKE = b"\x16\x03"
_PROXY_HEADERS = (b"PROXY ", b"\r\n\r\n\x00\r\nQUIT\n")  # versions 1 and 2
_SHORTEST = 4

_HTTP_TEXT = (
    "This port speaks the Kafka protocol, not HTTP. Point a Kafka client at it; in a browser there is nothing to see.\n"
)
_HTTP_ANSWER = (
    "HTTP/1.1 400 Bad Request\r\n"
    "Content-Type: text/plain; charset=utf-8\r\n"
    f"Content-Length: {len(_HTTP_TEXT)}\r\n"
    "Connection: close\r\n"
    "\r\n"
    f"{_HTTP_TEXT}"
).encode("ascii")


@frozen
class OtherProtocol:
    """A client of another protocol."""

    violation: Violation
    description: str
    answer: bytes


_TLS = OtherProtocol(
    Violation.TLS, "a TLS hello on a plaintext listener: the client is set to SSL, this listener is not", b""
)
_PROXY = OtherProtocol(
    Violation.PROXY_HEADER,
    "a PROXY protocol header, which is not understood here: let the proxy forward plain TCP "
    "(HAProxy: no send-proxy, Amazon's NLB: proxy protocol off)",
    b"",
)
_HTTP = OtherProtocol(Violation.HTTP, "an HTTP request on a Kafka port", _HTTP_ANSWER)


def recognise(start: bytes) -> OtherProtocol | None:
    """The protocol that a client speaks instead of Kafka's, by the first bytes of a connection; None if unknown."""
    if start.startswith(_TLS_HANDSHAKE):
        return _TLS
    if start[:_SHORTEST] in _HTTP_METHODS:
        return _HTTP
    # The rest of the header may not have arrived yet.
    if len(start) >= _SHORTEST and any(header[: len(start)] == start[: len(header)] for header in _PROXY_HEADERS):
        return _PROXY
    return None
