"""One HTTP exchange that is bounded in time and size. It blocks, so it runs in a thread.

**Limits.** Redirects and proxies are not followed, because the server's owner alone decides about logins. Errors show
nothing that the server sent, because it may be a token.
"""

import io
import socket
import ssl
import time
from collections.abc import Mapping
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import NamedTuple
from urllib.parse import SplitResult, urlsplit

from ...base.frozen import frozen

__all__ = ["HttpError", "HttpLimits", "HttpReply", "exchange"]

_PIECE_BYTES = 64 * 1024
_HEADERS = {"Accept": "application/json", "Cache-Control": "no-cache", "Connection": "close"}


class HttpError(Exception):
    """There is no usable response. The message is one line for the log, without the URL."""


@frozen
class HttpLimits:
    """``reply_s``: from the request to the last byte of the response, however slowly it comes."""

    connect_s: float
    reply_s: float
    most_bytes: int


class HttpReply(NamedTuple):
    """A response with any status."""

    status: int
    body: bytes


def exchange(
    url: str,
    limits: HttpLimits,
    *,
    form: bytes | None = None,
    headers: Mapping[str, str] | None = None,
    context: ssl.SSLContext | None = None,
) -> HttpReply:
    """GET, or POST of a form. ``context``: for https; None: the system's authorities are trusted. Raises HttpError."""
    all_headers = {**_HEADERS, **(headers or {})}
    if form is not None:
        all_headers["Content-Type"] = "application/x-www-form-urlencoded"
    try:
        parts = urlsplit(url)
        connection = _connection(parts, limits.connect_s, context)
        try:
            open_socket = _connected(connection, limits)
            target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            deadline = time.monotonic() + limits.reply_s
            connection.request("GET" if form is None else "POST", target, form, all_headers)
            return _reply(open_socket, deadline, limits.most_bytes)
        finally:
            connection.close()
    except TimeoutError:
        raise HttpError(f"timed out: the response did not arrive within {limits.reply_s:g} s") from None
    except OSError as error:
        raise HttpError(str(error) or type(error).__name__) from None
    except (HTTPException, ValueError) as error:
        raise HttpError(f"the URL or the response is malformed ({type(error).__name__})") from None


def _connection(parts: SplitResult, connect_s: float, context: ssl.SSLContext | None) -> HTTPConnection:
    host = parts.hostname or ""
    if parts.scheme == "https":
        return HTTPSConnection(host, parts.port, timeout=connect_s, context=context)
    return HTTPConnection(host, parts.port, timeout=connect_s)


def _connected(connection: HTTPConnection, limits: HttpLimits) -> socket.socket:
    try:
        connection.connect()
    except TimeoutError:
        raise HttpError(f"timed out: no connection within {limits.connect_s:g} s") from None
    open_socket: socket.socket = connection.sock
    open_socket.settimeout(limits.reply_s)
    return open_socket


def _reply(open_socket: socket.socket, deadline: float, most_bytes: int) -> HttpReply:
    response = HTTPResponse(_TimedSocket(open_socket, deadline))  # type: ignore[arg-type]
    with response:
        response.begin()
        body = bytearray()
        while piece := response.read1(_PIECE_BYTES):
            body += piece
            if len(body) > most_bytes:
                raise HttpError(f"the response has more than {most_bytes} bytes")
        return HttpReply(response.status, bytes(body))


class _TimedSocket:
    """The part of a socket that HTTPResponse uses. A time limit for each read alone would not end a slow server."""

    def __init__(self, open_socket: socket.socket, deadline: float) -> None:
        self._socket = open_socket
        self._deadline = deadline

    def makefile(self, _mode: str) -> io.BufferedReader:
        return io.BufferedReader(_TimedReads(self._socket, self._deadline))


class _TimedReads(io.RawIOBase):
    def __init__(self, open_socket: socket.socket, deadline: float) -> None:
        self._socket = open_socket
        self._deadline = deadline

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview[int]") -> int:  # type: ignore[override]
        left_s = self._deadline - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        self._socket.settimeout(left_s)
        return self._socket.recv_into(buffer)
