"""Says in words for people why a connection to a broker failed, and which setting is the likely cause.

**Limits.** A cause is a guess where the text says "perhaps": the network tells only how the connection ended.
"""

import socket

__all__ = ["WANTS_LOGIN", "WANTS_TLS", "cause_of", "handshake_cause_of", "is_closing"]

WANTS_LOGIN = "perhaps it wants a login (security.protocol, sasl.mechanism)"
WANTS_TLS = "perhaps it wants TLS (security.protocol), or is no broker"
_NO_TLS = "perhaps the port speaks no TLS (security.protocol)"
_CERTIFICATE_WANTED = "CERTIFICATE_REQUIRED"


def cause_of(error: Exception, host: str, *, is_advertised: bool = False) -> str:
    """The cause of an error of the network. ``is_advertised``: the host is known from a broker, not from the user."""
    import ssl  # slow to import

    if isinstance(error, socket.gaierror | UnicodeError):
        advice = "; the brokers tell clients to use it: see advertised.listeners" if is_advertised else ""
        return f"this machine finds no address for the name {host}{advice}"
    if isinstance(error, ConnectionRefusedError):
        return "connection refused: nothing listens there"
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"certificate verify failed: {error.verify_message}"
    if isinstance(error, ssl.SSLError):
        reason = error.reason or ""
        if reason.endswith(_CERTIFICATE_WANTED):
            return "the broker wants a certificate of the client (ssl.keystore.location)"
        return f"TLS failed ({reason.replace('_', ' ').lower() or error.strerror})"
    return error.strerror.lower() if isinstance(error, OSError) and error.strerror else str(error)


def handshake_cause_of(error: Exception, host: str) -> str:
    """The cause of an error of the TLS handshake."""
    import ssl

    if is_closing(error):
        return f"it closed the connection during the TLS handshake; {_NO_TLS}"
    if isinstance(error, ssl.SSLError) and error.reason in ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE"):
        return f"its first bytes are not TLS; {_NO_TLS}"
    return cause_of(error, host)


def is_closing(error: Exception) -> bool:
    """Whether the peer ended the connection."""
    import ssl

    return isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError, ConnectionResetError, BrokenPipeError))
