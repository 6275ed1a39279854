"""Causes of failed TLS connections, and one plain line for each.

OpenSSL names an error by a ``reason`` and, for certificates, by a number (``X509_V_ERR_…``). An alert that the peer
sent names the peer's reason: then the cause is what the peer did not accept.
"""

import ssl
from enum import Enum
from typing import NamedTuple

__all__ = ["Cause", "TlsError", "TlsFailure", "failure_of", "plain_text"]


class Cause(Enum):
    """Why a TLS connection failed. The value is the line's text about a peer."""

    PLAIN_TEXT = "it sends no TLS: SSL is set on this side only"
    UNKNOWN_AUTHORITY = "its certificate is not signed by an authority in the trust store"
    EXPIRED = "its certificate has expired"
    NOT_YET_VALID = "its certificate is not valid yet: check both clocks"
    NO_CERTIFICATE = "it shows no certificate, and ssl.client.auth=required asks for one"
    WRONG_HOST = "its certificate is for another host (ssl.endpoint.identification.algorithm=https)"
    BAD_CERTIFICATE = "its certificate cannot be used"
    NO_COMMON_SUITE = "no cipher suite or signature algorithm is enabled on both sides (ssl.cipher.suites)"
    NO_COMMON_PROTOCOL = "no version of TLS is enabled on both sides (ssl.enabled.protocols)"
    REFUSED_AUTHORITY = "it does not trust the authority of this broker's certificate"
    REFUSED_CERTIFICATE = (
        "it does not accept this broker's certificate; its own log says why (often the authority or the host's name)"
    )
    REFUSED_EXPIRED = "it says that this broker's certificate has expired"
    ASKED_FOR_CERTIFICATE = "it asks for a certificate, and this broker has shown none that it accepts"
    REFUSED_PROTOCOL = "it does not support any version of TLS that is enabled here (ssl.enabled.protocols)"
    REFUSED_HANDSHAKE = "it found nothing that both sides support, or misses a certificate"
    TOO_SLOW = "the handshake took too long"
    TOO_MANY = "too many handshakes waited for their clients, and this one had waited longest"
    TOO_LONG = "the handshake had too many bytes"
    CLOSED = "it closed the connection during the handshake"
    UNKNOWN = "TLS failed"


class TlsFailure(NamedTuple):
    cause: Cause
    detail: str = ""
    """OpenSSL's words, or what the peer sent in place of TLS; escaped."""

    def __str__(self) -> str:
        return f"{self.cause.value} ({self.detail})" if self.detail else self.cause.value


class TlsError(ConnectionError):
    """The error of a connection that TLS ended. ``host``: the server's name, on the side of its client."""

    def __init__(self, host: str | None, failure: TlsFailure) -> None:
        super().__init__(f"no TLS connection to {host}: {failure}")
        self.failure = failure


_BY_VERIFY_CODE = {
    2: Cause.UNKNOWN_AUTHORITY,
    18: Cause.UNKNOWN_AUTHORITY,
    19: Cause.UNKNOWN_AUTHORITY,
    20: Cause.UNKNOWN_AUTHORITY,
    21: Cause.UNKNOWN_AUTHORITY,
    27: Cause.UNKNOWN_AUTHORITY,
    9: Cause.NOT_YET_VALID,
    10: Cause.EXPIRED,
    62: Cause.WRONG_HOST,
    64: Cause.WRONG_HOST,
}

_BY_REASON = {
    "HTTP_REQUEST": Cause.PLAIN_TEXT,
    "HTTPS_PROXY_REQUEST": Cause.PLAIN_TEXT,
    "WRONG_VERSION_NUMBER": Cause.PLAIN_TEXT,
    "PACKET_LENGTH_TOO_LONG": Cause.PLAIN_TEXT,
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": Cause.NO_CERTIFICATE,
    "NO_SHARED_CIPHER": Cause.NO_COMMON_SUITE,
    "NO_SUITABLE_SIGNATURE_ALGORITHM": Cause.NO_COMMON_SUITE,
    "NO_SUITABLE_KEY_SHARE": Cause.NO_COMMON_SUITE,
    "NO_SUITABLE_GROUPS": Cause.NO_COMMON_SUITE,
    "NO_SHARED_SIGNATURE_ALGORITHMS": Cause.NO_COMMON_SUITE,
    "NO_CIPHERS_AVAILABLE": Cause.NO_COMMON_SUITE,
    "UNSUPPORTED_PROTOCOL": Cause.NO_COMMON_PROTOCOL,
    "UNKNOWN_PROTOCOL": Cause.NO_COMMON_PROTOCOL,
    "NO_PROTOCOLS_AVAILABLE": Cause.NO_COMMON_PROTOCOL,
    "VERSION_TOO_LOW": Cause.NO_COMMON_PROTOCOL,
    "TLSV1_ALERT_UNKNOWN_CA": Cause.REFUSED_AUTHORITY,
    "SSLV3_ALERT_CERTIFICATE_UNKNOWN": Cause.REFUSED_CERTIFICATE,
    "SSLV3_ALERT_BAD_CERTIFICATE": Cause.REFUSED_CERTIFICATE,
    "SSLV3_ALERT_UNSUPPORTED_CERTIFICATE": Cause.REFUSED_CERTIFICATE,
    "SSLV3_ALERT_CERTIFICATE_REVOKED": Cause.REFUSED_CERTIFICATE,
    "SSLV3_ALERT_CERTIFICATE_EXPIRED": Cause.REFUSED_EXPIRED,
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": Cause.ASKED_FOR_CERTIFICATE,
    "TLSV1_ALERT_PROTOCOL_VERSION": Cause.REFUSED_PROTOCOL,
    "SSLV3_ALERT_HANDSHAKE_FAILURE": Cause.REFUSED_HANDSHAKE,
    "TLSV1_ALERT_INSUFFICIENT_SECURITY": Cause.REFUSED_HANDSHAKE,
}

_HTTP_METHODS = (b"GET ", b"HEAD", b"POST", b"PUT ", b"DELE", b"OPTI", b"PATC", b"CONN", b"TRAC", b"PRI ")
_SHOWN_BYTES = 8


def failure_of(error: ssl.SSLError) -> TlsFailure:
    """The failure that OpenSSL reports."""
    reason: str = getattr(error, "reason", None) or ""
    if isinstance(error, ssl.SSLCertVerificationError):
        cause = _BY_VERIFY_CODE.get(error.verify_code, Cause.BAD_CERTIFICATE)
        return TlsFailure(cause, error.verify_message.rstrip(".") if cause is Cause.BAD_CERTIFICATE else "")
    cause = _BY_REASON.get(reason, Cause.UNKNOWN)
    return TlsFailure(cause, _words_of(reason) if cause is Cause.UNKNOWN else "")


def plain_text(start: bytes) -> TlsFailure:
    """The failure of a peer whose first bytes are no TLS record."""
    if start[:4] in _HTTP_METHODS:
        return TlsFailure(Cause.PLAIN_TEXT, "an HTTP request on a Kafka port")
    if start.startswith((b"PROXY ", b"\r\n\r\n\x00\r\nQ")):
        return TlsFailure(Cause.PLAIN_TEXT, "a PROXY protocol header, which is not understood here")
    if start[:1] == b"\0":
        return TlsFailure(Cause.PLAIN_TEXT, "it looks like a Kafka request in plain text")
    return TlsFailure(Cause.PLAIN_TEXT, f"its first bytes are {start[:_SHOWN_BYTES].hex(' ')}")


def _words_of(reason: str) -> str:
    return reason.replace("_", " ").lower() or "no reason was given"
