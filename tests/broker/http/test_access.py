"""Tokens, and the host names of requests to this machine."""

import os
from pathlib import Path

import pytest
from pybroker.broker.http.access import check_host
from pybroker.broker.http.http_error import HttpError
from pybroker.broker.http.request import HttpRequest
from pybroker.broker.http.response import HttpResponse
from pybroker.broker.http.router import Router
from pybroker.broker.http.token_file import TokenFile
from pybroker.config.config_error import ConfigError
from support.clients.http_client import HttpClient, http_server

TOKEN, NEXT_TOKEN = "first-token-of-the-test", "second-token-of-the-test"


class Stopwatch:
    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


def router() -> Router:
    router = Router()
    router.get("/closed", lambda _request: HttpResponse.json({}))
    router.get("/open", lambda _request: HttpResponse.json({}), is_public=True)
    return router


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def test_paths_that_are_not_public_need_a_valid_token(tmp_path: Path) -> None:
    file = tmp_path / "tokens"
    file.write_text(f"{TOKEN}\n\n{NEXT_TOKEN}\n")
    tokens = TokenFile(file, "the setting", Stopwatch())
    async with http_server(router(), tokens=tokens) as port, HttpClient(port) as client:
        assert (await client.get("/open")).status == 200
        for path in ("/closed", "/unknown"):
            refused = await client.get(path)
            assert refused.status == 401
            assert refused.headers["www-authenticate"].startswith("Bearer")
            for wrong in (TOKEN[:-1], f"{TOKEN}x", "", TOKEN.upper(), "é" * 20):
                assert (await client.get(path, bearer(wrong))).status == 401
            assert (await client.get(path, {"Authorization": f"Basic {TOKEN}"})).status == 401
        for token in (TOKEN, NEXT_TOKEN):
            assert (await client.get("/closed", bearer(token))).status == 200
        assert (await client.get("/unknown", bearer(TOKEN))).status == 404


async def test_changed_file_of_tokens_is_read_again_and_a_broken_one_changes_nothing(tmp_path: Path) -> None:
    file, stopwatch = tmp_path / "tokens", Stopwatch()
    file.write_text(TOKEN)
    tokens = TokenFile(file, "the setting", stopwatch)
    async with http_server(router(), tokens=tokens) as port, HttpClient(port) as client:

        async def statuses() -> list[int]:
            stopwatch.now_s += 2
            return [(await client.get("/closed", bearer(token))).status for token in (TOKEN, NEXT_TOKEN)]

        assert await statuses() == [200, 401]
        replacement = tmp_path / "new"
        replacement.write_text(NEXT_TOKEN)
        os.replace(replacement, file)
        assert await statuses() == [401, 200]
        file.write_text("short")
        assert await statuses() == [401, 200]
        file.unlink()
        assert await statuses() == [401, 200]


@pytest.mark.parametrize("content", ["", "\n \n", "short", f"{TOKEN}\nshort", TOKEN * 5000])
def test_unusable_file_of_tokens_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "tokens"
    file.write_text(content)
    with pytest.raises(ConfigError, match="the setting: "):
        TokenFile(file, "the setting", Stopwatch())


@pytest.mark.parametrize(
    "host",
    ["localhost", "LOCALHOST:8092", "a.localhost:1", "127.0.0.1:8092", "10.1.2.3:80", "[::1]:8092", "[::1]", "::1"],
)
def test_requests_to_this_machine_may_name_it_or_an_address(host: str) -> None:
    check_host(HttpRequest("GET", "/", headers={"host": host}), "127.0.0.1")


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8092", "localhost.evil.example", "127.0.0.1.evil.example", "[x"]
)
@pytest.mark.parametrize("local", ["127.0.0.1", "::1", "127.3.4.5"])
def test_requests_to_this_machine_by_another_name_are_refused(host: str, local: str) -> None:
    request = HttpRequest("GET", "/", headers={"host": host})
    with pytest.raises(HttpError) as refused:
        check_host(request, local)
    assert refused.value.status == 421
    check_host(request, "10.1.2.3")  # the name of this machine in the network
