"""Tests of downloads of key sets by HTTPS, from servers that behave and from servers that do not."""

import ssl
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from pybroker.broker.security.sasl.jwks import MAX_JWKS_BYTES, JwksError
from pybroker.broker.security.sasl.jwks_source import fetch_jwks
from support.processes.certificates import Authority

Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """``url`` answers with ``answer``, which a test may replace."""

    def __init__(self, store: Path) -> None:
        self.answer: Answer = lambda request: send(request, b"{}")
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.answer(self)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(store)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        self.url = f"https://127.0.0.1:{self._server.server_port}/keys"

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def send(request: BaseHTTPRequestHandler, body: bytes, status: int = 200, **headers: str) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(body)


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def server(authority: Authority) -> Iterator[Server]:
    server = Server(authority.issue("issuer", "IP:127.0.0.1"))
    yield server
    server.close()


@pytest.fixture
def context(authority: Authority) -> ssl.SSLContext:
    return ssl.create_default_context(cafile=authority.certificate)


def test_key_set_is_downloaded(server: Server, context: ssl.SSLContext) -> None:
    server.answer = lambda request: send(request, b"content")
    assert fetch_jwks(server.url, 10, context) == b"content"


def test_server_with_an_unknown_certificate_is_refused(server: Server) -> None:
    with pytest.raises(JwksError, match="certificate verify failed"):
        fetch_jwks(server.url, 10)


def test_redirect_is_not_followed(server: Server, context: ssl.SSLContext) -> None:
    def redirected(request: BaseHTTPRequestHandler) -> None:
        if request.path == "/keys":
            send(request, b"", 302, Location="/other")
        else:
            send(request, b"{}")

    server.answer = redirected
    with pytest.raises(JwksError, match="302"):
        fetch_jwks(server.url, 10, context)


def test_proxy_of_the_environment_is_not_used(
    server: Server, context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    assert fetch_jwks(server.url, 10, context) == b"{}"


@pytest.mark.parametrize("status", [204, 401, 404, 500])
def test_other_status_is_an_error(server: Server, context: ssl.SSLContext, status: int) -> None:
    server.answer = lambda request: send(request, b"", status)
    with pytest.raises(JwksError, match=str(status)):
        fetch_jwks(server.url, 10, context)


def test_download_ends_at_the_size_limit(server: Server, context: ssl.SSLContext) -> None:
    sent = 0

    def endless(request: BaseHTTPRequestHandler) -> None:
        nonlocal sent
        request.send_response(200)
        request.end_headers()
        try:
            while sent < 64 * MAX_JWKS_BYTES:
                sent += request.wfile.write(b" " * 65536)
        except OSError:
            pass

    server.answer = endless
    with pytest.raises(JwksError, match="more than 1048576 bytes"):
        fetch_jwks(server.url, 10, context)
    assert sent < 64 * MAX_JWKS_BYTES


def test_download_of_a_slow_server_ends_at_the_deadline(server: Server, context: ssl.SSLContext) -> None:
    is_over = threading.Event()

    def dripping(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.end_headers()
        try:
            while not is_over.wait(0.01):
                request.wfile.write(b" ")
        except OSError:
            pass

    server.answer = dripping
    try:
        with pytest.raises(JwksError, match="did not arrive within"):
            fetch_jwks(server.url, 0.3, context)
    finally:
        is_over.set()


def test_server_that_hangs_is_given_up(server: Server, context: ssl.SSLContext) -> None:
    is_over = threading.Event()

    def silent(request: BaseHTTPRequestHandler) -> None:
        is_over.wait()

    server.answer = silent
    try:
        with pytest.raises(JwksError, match="timed out"):
            fetch_jwks(server.url, 0.3, context)
    finally:
        is_over.set()


def test_server_that_is_away_is_an_error(server: Server, context: ssl.SSLContext) -> None:
    server.close()
    with pytest.raises(JwksError, match="refused"):
        fetch_jwks(server.url, 10, context)
    server.close = lambda: None  # type: ignore[method-assign]
