"""A Kafka client connection without I/O: encodes requests and decodes the responses to them, in order.

**How.** The caller owns the socket. It writes the bytes that `ClientConnection.send` returns, and passes the bytes it
reads to `ClientConnection.receive`, which returns events. `opening_requests` yields the requests that begin every
connection: ApiVersions and, if wanted, a SASL login.

**Limits.** It neither reconnects nor retries nor keeps time: its callers do.
"""

from .connection import ClientConnection, ConnectionFailed, Event, ResponseReceived
from .errors import (
    ClientError,
    ConnectionClosedError,
    ResponseDecodeError,
    ResponseSizeError,
    SaslError,
    TlsAlertError,
    UnexpectedResponseError,
    UnsupportedApiError,
    VersionsRefusedError,
)
from .opening import login_requests, open_connection, opening_requests
from .sasl import AnyCredentials, BearerToken, Credentials, SaslLogin
from .served_versions import ServedVersions

__all__ = [
    "AnyCredentials",
    "BearerToken",
    "ClientConnection",
    "ClientError",
    "ConnectionClosedError",
    "ConnectionFailed",
    "Credentials",
    "Event",
    "ResponseDecodeError",
    "ResponseReceived",
    "ResponseSizeError",
    "SaslError",
    "SaslLogin",
    "ServedVersions",
    "TlsAlertError",
    "UnexpectedResponseError",
    "UnsupportedApiError",
    "VersionsRefusedError",
    "login_requests",
    "open_connection",
    "opening_requests",
]
