"""Asks a broker's HTTP endpoint how it does: one request over a connection of its own, with a deadline."""

import json
import socket
import time
from typing import TYPE_CHECKING

from ..metadata.address import Address
from .broker_probe import UnhealthyError

if TYPE_CHECKING:
    import ssl

__all__ = ["ask_probe"]

_MAX_RESPONSE_BYTES = 64 << 10
_READ_BYTES = 4 << 10
_OK = 200


def ask_probe(address: Address, path: str, timeout_s: float, tls: "ssl.SSLContext | None", token: str | None) -> None:
    """Returns when the response is 200. Raises UnhealthyError with the reasons that the broker gives, otherwise.

    ``token``: for an endpoint that wants one.
    """
    try:
        response = _response(address, path, time.monotonic() + timeout_s, tls, token)
    except TimeoutError:
        raise UnhealthyError(f"does not answer within {timeout_s:g} s") from None
    except OSError as error:
        raise UnhealthyError(f"cannot be reached: {error.strerror or error}") from error
    head, _, body = response.partition(b"\r\n\r\n")
    version, _, rest = head.partition(b" ")
    if not version.startswith(b"HTTP/1.") or not rest[:3].isdigit():
        raise UnhealthyError("does not answer as an HTTP server does")
    if int(rest[:3]) != _OK:
        raise UnhealthyError(f"says no to {path}: {_reasons(body) or rest[:3].decode()}")


def _response(address: Address, path: str, deadline_s: float, tls: "ssl.SSLContext | None", token: str | None) -> bytes:
    """Everything that comes, up to `_MAX_RESPONSE_BYTES`. Raises OSError (TimeoutError after the deadline)."""
    login = "" if token is None else f"Authorization: Bearer {token}\r\n"
    request = f"GET {path} HTTP/1.0\r\nHost: {address}\r\n{login}\r\n"
    plain = socket.create_connection(address, timeout=_left_s(deadline_s))
    with plain, plain if tls is None else _encrypted(plain, tls, address.host) as connection:
        connection.sendall(request.encode("latin-1"))
        received = b""
        while len(received) < _MAX_RESPONSE_BYTES:
            connection.settimeout(_left_s(deadline_s))
            piece = connection.recv(_READ_BYTES)
            if not piece:
                break
            received += piece
        return received


def _encrypted(plain: socket.socket, tls: "ssl.SSLContext", host: str) -> socket.socket:
    import ssl  # not needed without TLS

    from ..security.tls.failures import failure_of

    try:
        return tls.wrap_socket(plain, server_hostname=host)
    except ssl.SSLError as error:
        raise UnhealthyError(f"cannot be reached over TLS: {failure_of(error)}") from error


def _left_s(deadline_s: float) -> float:
    left_s = deadline_s - time.monotonic()
    if left_s <= 0:
        raise TimeoutError
    return left_s


def _reasons(body: bytes) -> str:
    """The reasons in the JSON of a response; "" when it has none."""
    try:
        answer = json.loads(body)
        found = answer.get("reasons") or [answer.get("error") or ""]
        return "; ".join(map(str, found))
    except (ValueError, AttributeError, TypeError, RecursionError):
        return ""
