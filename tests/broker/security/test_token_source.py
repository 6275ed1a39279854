"""Tests of tokens from an OAuth provider and from a file: requests, responses, and servers that do not behave."""

import json
import time
from base64 import b64decode
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import parse_qs

import pytest
from pybroker.client.oauth.http_exchange import HttpLimits
from pybroker.client.oauth.own_token import ClaimNames, own_token
from pybroker.client.oauth.token_source import (
    MAX_TOKEN_RESPONSE_BYTES,
    FileToken,
    TokenEndpoint,
    TokenError,
)
from support.in_process.tls_ends import STORES, client_context
from support.security.http_server import HttpServer, endless, http_server, send
from support.security.tokens import CLAIMS, NOW_MS, unchecked_token

SECRET = "canary-s3cret"
TOKEN = unchecked_token(CLAIMS)


@pytest.fixture
def server() -> Iterator[HttpServer]:
    with http_server() as running:
        running.answer = lambda request: send(request, answer_with(TOKEN))
        yield running


def answer_with(token: object) -> bytes:
    return json.dumps({"access_token": token, "expires_in": 1, "token_type": "Bearer"}).encode()


def endpoint(server: HttpServer, *, reply_s: float = 30) -> TokenEndpoint:
    limits = HttpLimits(30, reply_s, MAX_TOKEN_RESPONSE_BYTES)
    return TokenEndpoint(server.url, "me", SECRET, "a b", limits, ClaimNames(), (("traceId", SECRET),))


def test_token_is_asked_for_by_client_credentials(server: HttpServer) -> None:
    token = endpoint(server).fetch()
    assert token.bearer.token == TOKEN
    assert token.bearer.extensions == (("traceId", SECRET),)
    assert (token.user, token.begins_at_ms, token.expires_at_ms) == ("alice", NOW_MS - 60_000, NOW_MS + 60_000)
    (received,) = server.received
    assert received.method == "POST"
    assert received.headers["content-type"] == "application/x-www-form-urlencoded"
    assert received.headers["accept"] == "application/json"
    scheme, credentials = received.headers["authorization"].split()
    assert (scheme, b64decode(credentials)) == ("Basic", f"me:{SECRET}".encode())
    assert parse_qs(received.body.decode()) == {"grant_type": ["client_credentials"], "scope": ["a b"]}


def test_request_without_a_scope_names_none(server: HttpServer) -> None:
    replace(endpoint(server), scope="").fetch()
    assert server.received[0].body == b"grant_type=client_credentials"


def test_token_comes_by_https_from_a_server_that_is_trusted() -> None:
    with http_server(STORES / "server.pem") as server:
        server.answer = lambda request: send(request, answer_with(f" {TOKEN}\n"), 201)
        trusting = replace(endpoint(server), context=client_context())
        assert trusting.fetch().bearer.token == TOKEN
        with pytest.raises(TokenError, match="certificate verify failed"):
            endpoint(server).fetch()


@pytest.mark.parametrize(
    ("status", "body", "says", "is_final"),
    [
        (401, b'{"error": "invalid_client"}', r"status 401 \(invalid_client\)", True),
        (400, f'{{"error": "{SECRET}"}}'.encode(), "status 400$", True),
        (404, SECRET.encode(), "status 404$", True),
        (500, b"", "status 500$", False),
        (503, b"[1]", "status 503$", False),
        (302, b"", "status 302$", False),
        (200, b"", "no access_token", False),
        (200, SECRET.encode(), "no access_token", False),
        (200, b"[" * 100_000, "no access_token", False),
        (200, answer_with(None), "no access_token", False),
        (200, answer_with(" "), "no access_token", False),
        (200, answer_with(SECRET), "is no JSON Web Token", False),
        (200, answer_with(TOKEN + "\x01a=b"), "is no JSON Web Token", False),
        (200, answer_with(TOKEN.rpartition(".")[0] + "."), "is no JSON Web Token", False),
        (200, answer_with(f"a.{SECRET}.c"), "payload", False),
        (200, answer_with(unchecked_token({"sub": "a"})), "lacks exp", False),
        (200, answer_with(unchecked_token({"exp": 1})), "claim sub of the token names no user", False),
        (200, answer_with(unchecked_token({"exp": SECRET, "sub": "a"})), "claim exp of the token is no time", False),
    ],
)
def test_response_without_a_usable_token_is_an_error_that_shows_none_of_it(
    server: HttpServer, status: int, body: bytes, says: str, is_final: bool
) -> None:
    server.answer = lambda request: send(request, body, status)
    with pytest.raises(TokenError, match=says) as error:
        endpoint(server).fetch()
    assert error.value.is_final == is_final
    assert server.url in str(error.value)
    assert SECRET not in str(error.value)
    assert TOKEN not in str(error.value)


def test_redirect_does_not_take_the_secret_to_another_place(server: HttpServer) -> None:
    with http_server() as other:
        server.answer = lambda request: send(request, b"", 307, Location=other.url)
        with pytest.raises(TokenError, match="status 307"):
            endpoint(server).fetch()
        assert other.received == []


@pytest.mark.parametrize("slowly", [HttpServer.hang, HttpServer.drip, HttpServer.drip_headers])
def test_slow_server_is_given_up_at_the_deadline(server: HttpServer, slowly: object) -> None:
    server.answer = slowly.__get__(server)  # type: ignore[attr-defined]
    with pytest.raises(TokenError, match=r"timed out: the response did not arrive within 0\.3 s") as error:
        endpoint(server, reply_s=0.3).fetch()
    assert not error.value.is_final


def test_huge_response_is_read_up_to_the_limit(server: HttpServer) -> None:
    sent: list[int] = []
    server.answer = lambda request: sent.append(endless(request))
    with pytest.raises(TokenError, match="more than 262144 bytes"):
        endpoint(server).fetch()
    server.close()
    assert all(each < 64 << 20 for each in sent)


def test_server_that_speaks_no_http_is_an_error_without_its_text(server: HttpServer) -> None:
    def speak(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(f"{SECRET}\r\n\r\n".encode())

    server.answer = speak
    with pytest.raises(TokenError, match="malformed") as error:
        endpoint(server).fetch()
    assert SECRET not in str(error.value)


def test_server_that_is_away_is_an_error(server: HttpServer) -> None:
    server.close()
    with pytest.raises(TokenError, match="refused") as error:
        endpoint(server).fetch()
    assert not error.value.is_final


def test_no_repr_shows_a_secret_or_a_token(server: HttpServer) -> None:
    source = endpoint(server)
    texts = repr(source), repr(source.fetch()), repr(source.fetch().bearer)
    assert not any(SECRET in text or TOKEN in text for text in texts)


def test_query_of_the_url_is_sent_and_not_shown(server: HttpServer) -> None:
    server.answer = lambda request: send(request, b"", 500)
    with pytest.raises(TokenError) as error:
        replace(endpoint(server), url=f"{server.url}?key={SECRET}").fetch()
    assert SECRET not in str(error.value)
    assert server.received[0].path == f"/keys?key={SECRET}"


def test_token_in_a_file_is_read_again_each_time(tmp_path: Path) -> None:
    file = tmp_path / "token"
    source = FileToken(file.as_uri(), ClaimNames())
    with pytest.raises(TokenError, match="No such file"):
        source.fetch()
    for user in ("alice", "bob"):
        file.write_text(f"{unchecked_token(CLAIMS | {'sub': user})}\n")
        assert source.fetch().user == user


@pytest.mark.parametrize(("content", "says"), [("", "no JSON Web Token"), (SECRET, "no JSON Web Token")])
def test_file_without_a_token_is_an_error_without_its_text(tmp_path: Path, content: str, says: str) -> None:
    file = tmp_path / "token"
    file.write_text(content)
    with pytest.raises(TokenError, match=says) as error:
        FileToken(file.as_uri(), ClaimNames()).fetch()
    assert SECRET not in str(error.value)
    with pytest.raises(TokenError, match="is no file"):
        FileToken(tmp_path.as_uri(), ClaimNames()).fetch()
    file.write_bytes(b" " * (MAX_TOKEN_RESPONSE_BYTES + 1))
    with pytest.raises(TokenError, match="more than 262144 bytes"):
        FileToken(file.as_uri(), ClaimNames()).fetch()


def test_claims_have_the_names_of_the_settings() -> None:
    soon_s = int(time.time()) + 60
    token = own_token(unchecked_token({"client": "me", "exp": soon_s}), ClaimNames("client", "scp"))
    assert (token.user, token.begins_at_ms, token.expires_at_ms) == ("me", None, soon_s * 1000)
