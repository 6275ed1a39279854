"""Documents under /v1: tokens, refusals, and addresses that are no pybroker."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker import Broker
from support.clients.commands import Pybroker

TOKEN = "a-token-of-a-good-length-0123456789"


@pytest.fixture(scope="module")
def token_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("token") / "token"
    file.write_text(f"{TOKEN}\n")
    file.chmod(0o600)
    return file


@pytest.fixture(scope="module")
def http(token_file: Path) -> Iterator[str]:
    settings = {"pybroker.http.listeners": "HTTP://127.0.0.1:0", "pybroker.http.token.file": str(token_file)}
    with Broker(settings) as broker:
        assert broker.http_url is not None
        yield broker.http_url


def refused(pybroker: Pybroker, *arguments: str) -> tuple[int, str]:
    ran = pybroker("groups", "timeline", "no-such-group", *arguments)
    assert ran.out == ""
    assert ran.err.count("\n") == 1
    return ran.code, ran.err


def test_token_is_sent_and_its_lack_is_told(pybroker: Pybroker, http: str, token_file: Path) -> None:
    code, text = refused(pybroker, "--v1", http)
    assert (code, "a token is needed" in text) == (4, True)
    code, text = refused(pybroker, "--v1", http, "--v1-token-file", str(token_file))
    assert (code, "there is no such group" in text) == (3, True)


def test_unusable_addresses_and_files_are_named(pybroker: Pybroker, http: str, tmp_path: Path) -> None:
    assert refused(pybroker, "--v1", "127.0.0.1:8092")[0] == 2
    missing = tmp_path / "missing"
    code, text = refused(pybroker, "--v1", http, "--v1-token-file", str(missing))
    assert (code, str(missing) in text) == (2, True)
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    code, text = refused(pybroker, "--v1", f"http://127.0.0.1:{port}")
    assert (code, "no response" in text) == (1, True)


def test_next_address_is_tried(pybroker: Pybroker, http: str, token_file: Path) -> None:
    options = ("--v1", "http://127.0.0.1:1", "--v1", http, "--v1-token-file", str(token_file))
    assert refused(pybroker, *options)[0] == 3
    assert refused(pybroker, *options, "--v1", "http://127.0.0.1:1")[0] == 3, "the broker that answers is believed"
