"""A real HTTP or HTTPS server of 127.0.0.1 whose responses a test decides."""

import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

__all__ = ["Answer", "HttpServer", "Received", "endless", "http_server", "send"]

Answer = Callable[[BaseHTTPRequestHandler], None]


class Received(NamedTuple):
    """``headers``: by name in lower case."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class HttpServer:
    """``answer`` answers each request in a thread of its own; a test may replace it. ``url`` has the path /keys.

    ``is_over`` is set at the end, so that a response that hangs can end. ``store``: key and certificate for TLS.
    """

    def __init__(self, store: Path | None = None) -> None:
        self.answer: Answer = lambda request: send(request, b"{}")
        self.received: list[Received] = []
        self.is_over = threading.Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer._receive(self)

            def do_POST(self) -> None:
                outer._receive(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        if store is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(store)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"http{'' if store is None else 's'}://127.0.0.1:{self._server.server_port}/keys"

    def close(self) -> None:
        """May be called twice."""
        if not self.is_over.is_set():
            self.is_over.set()
            self._server.shutdown()
            self._thread.join()
            self._server.server_close()

    def hang(self, _request: BaseHTTPRequestHandler) -> None:
        """Never sends a response."""
        self.is_over.wait()

    def drip(self, request: BaseHTTPRequestHandler) -> None:
        """Sends a response byte by byte, without an end."""
        request.send_response(200)
        request.end_headers()
        self._drip(request, b" ")

    def drip_headers(self, request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Slow: ")
        self._drip(request, b"x")

    def _drip(self, request: BaseHTTPRequestHandler, byte: bytes) -> None:
        try:
            while not self.is_over.wait(0.01):
                request.wfile.write(byte)
                request.wfile.flush()
        except OSError:  # the client has gone
            pass

    def _receive(self, request: BaseHTTPRequestHandler) -> None:
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        headers = {name.lower(): value for name, value in request.headers.items()}
        self.received.append(Received(request.command, request.path, headers, body))
        self.answer(request)


@contextmanager
def http_server(store: Path | None = None) -> Iterator[HttpServer]:
    server = HttpServer(store)
    try:
        yield server
    finally:
        server.close()


def send(request: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(body)


def endless(request: BaseHTTPRequestHandler) -> int:
    """Sends up to 256 MiB; returns how many bytes the client took."""
    sent = 0
    request.send_response(200)
    request.end_headers()
    try:
        while sent < 256 << 20:
            sent += request.wfile.write(b" " * 65536)
    except OSError:
        pass
    return sent
