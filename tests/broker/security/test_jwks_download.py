"""Tests of downloads of key sets by HTTPS, from servers that behave and from servers that do not."""

import ssl
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

import pytest
from pybroker.broker.security.sasl.jwks import MAX_JWKS_BYTES, JwksError
from pybroker.broker.security.sasl.jwks_source import fetch_jwks
from support.in_process.tls_ends import STORES, client_context
from support.security.http_server import HttpServer, endless, http_server, send


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with http_server(STORES / "server.pem") as running:
        yield running


@pytest.fixture
def context() -> ssl.SSLContext:
    return client_context()


def test_key_set_is_downloaded(server: HttpServer, context: ssl.SSLContext) -> None:
    server.answer = lambda request: send(request, b"content")
    assert fetch_jwks(f"{server.url}?a=b", 10, context) == b"content"
    (received,) = server.received
    assert (received.method, received.path, received.body) == ("GET", "/keys?a=b", b"")


def test_server_with_an_unknown_certificate_is_refused(server: HttpServer) -> None:
    with pytest.raises(JwksError, match="certificate verify failed"):
        fetch_jwks(server.url, 10)


def test_redirect_is_not_followed(server: HttpServer, context: ssl.SSLContext) -> None:
    def redirected(request: BaseHTTPRequestHandler) -> None:
        if request.path == "/keys":
            send(request, b"", 302, Location="/other")
        else:
            send(request, b"{}")

    server.answer = redirected
    with pytest.raises(JwksError, match="302"):
        fetch_jwks(server.url, 10, context)


def test_proxy_of_the_environment_is_not_used(
    server: HttpServer, context: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:1")
    assert fetch_jwks(server.url, 10, context) == b"{}"


@pytest.mark.parametrize("status", [204, 401, 404, 500])
def test_other_status_is_an_error(server: HttpServer, context: ssl.SSLContext, status: int) -> None:
    server.answer = lambda request: send(request, b"", status)
    with pytest.raises(JwksError, match=str(status)):
        fetch_jwks(server.url, 10, context)


def test_download_ends_at_the_size_limit(server: HttpServer, context: ssl.SSLContext) -> None:
    sent: list[int] = []
    server.answer = lambda request: sent.append(endless(request))
    with pytest.raises(JwksError, match="more than 1048576 bytes"):
        fetch_jwks(server.url, 10, context)
    server.close()
    assert all(each < 64 * MAX_JWKS_BYTES for each in sent)


@pytest.mark.parametrize("slowly", [HttpServer.hang, HttpServer.drip, HttpServer.drip_headers])
def test_download_of_a_slow_server_ends_at_the_deadline(
    server: HttpServer, context: ssl.SSLContext, slowly: object
) -> None:
    server.answer = slowly.__get__(server)  # type: ignore[attr-defined]
    with pytest.raises(JwksError, match=r"timed out: the response did not arrive within 0\.3 s"):
        fetch_jwks(server.url, 0.3, context)


def test_server_that_speaks_no_http_is_an_error_without_its_text(server: HttpServer, context: ssl.SSLContext) -> None:
    server.answer = lambda request: request.wfile.write(b"secret\r\n\r\n")  # type: ignore[assignment]
    with pytest.raises(JwksError, match="malformed") as error:
        fetch_jwks(server.url, 10, context)
    assert "secret" not in str(error.value)


def test_server_that_is_away_is_an_error(server: HttpServer, context: ssl.SSLContext) -> None:
    server.close()
    with pytest.raises(JwksError, match="refused"):
        fetch_jwks(server.url, 10, context)
