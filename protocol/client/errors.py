"""Errors of a client connection. Callers put the broker's address in front of a text: "… closed the connection"."""

from ..errors import ErrorCode

__all__ = [
    "ClientError",
    "ConnectionClosedError",
    "ResponseDecodeError",
    "ResponseSizeError",
    "SaslError",
    "TlsAlertError",
    "UnexpectedResponseError",
    "UnsupportedApiError",
    "VersionsRefusedError",
]


class ClientError(Exception):
    """The base class of all errors below."""


class ConnectionClosedError(ClientError):
    """The broker closed the connection, or an earlier error ended it."""


class ResponseSizeError(ClientError):
    """The size in front of a response is too small, or above the limit for that response."""

    def __init__(self, size: int, what: str | None = None) -> None:
        super().__init__(what or f"sent a response of {size} bytes")
        self.size = size


class TlsAlertError(ResponseSizeError):
    """The first bytes are a TLS alert: the broker speaks TLS, and the client sent plain text."""

    def __init__(self, size: int) -> None:
        super().__init__(size, "speaks TLS")


class UnexpectedResponseError(ClientError):
    """A response arrived although no request awaits one."""


class ResponseDecodeError(ClientError):
    """A response cannot be decoded, or carries the correlation id of another request."""


class UnsupportedApiError(ClientError):
    """The client and the broker have no version of an API in common."""


class VersionsRefusedError(ClientError):
    """The broker answered ApiVersions with an error code."""

    def __init__(self, code: int) -> None:
        known = {each.value: each.name for each in ErrorCode}
        self.error_name = known.get(code, str(code))
        super().__init__(f"refuses to list its API versions: {self.error_name}")


class SaslError(ClientError):
    """The broker's side of a SASL exchange is malformed, or does not prove that the broker knows the password."""
