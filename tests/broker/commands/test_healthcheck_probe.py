"""``pybroker healthcheck --probe`` asks the HTTP endpoint of the broker whose settings it reads."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.commands.command_line import main
from support.in_process.one_answer import say, say_nothing, somebody_else
from support.in_process.tls_ends import STORES

LISTENERS = "pybroker.http.listeners"


def check(tmp_path: Path, settings: Mapping[str, str], *arguments: str) -> int:
    file = tmp_path / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    return main(["healthcheck", "--config", str(file), *arguments])


@pytest.mark.parametrize("probe", ["livez", "readyz", "safe-to-stop"])
@pytest.mark.parametrize("scheme", ["HTTP", "HTTPS"])
def test_running_broker_says_yes_to_each_probe_also_with_a_token_and_over_tls(
    probe: str, scheme: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tokens = tmp_path / "tokens"
    tokens.write_text("\nthe-first-token-of-the-test\nthe-other-token-of-the-test\n")
    settings = {LISTENERS: f"{scheme}://127.0.0.1:0", "pybroker.http.token.file": str(tokens)}
    if scheme == "HTTPS":
        settings["listener.name.https.ssl.keystore.type"] = "PEM"
        settings["listener.name.https.ssl.keystore.location"] = str(STORES / "server.pem")
    with Broker(settings) as broker:
        _, _, address = str(broker.http_url).partition("://")
        settings[LISTENERS] = f"{scheme}://{address}"
        assert check(tmp_path, settings, "--probe", probe) == 0
        assert capsys.readouterr().out == f"{address} says yes to /{probe}\n"
        tokens.write_text("not-a-token-of-the-broker\n")
        expected = {"safe-to-stop": (1, f"pybroker: {address} says no to /{probe}: the token is not valid")}
        code, words = expected.get(probe, (0, ""))
        assert check(tmp_path, settings, "--probe", probe) == code
        assert capsys.readouterr().err.startswith(words)


def test_broker_without_http_is_asked_by_kafkas_protocol_whether_it_is_ready(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Broker() as broker:
        settings = {LISTENERS: "", "listeners": f"PLAINTEXT://{broker.bootstrap_servers}"}
        assert check(tmp_path, settings, "--probe", "readyz") == 0
        assert capsys.readouterr().out.startswith(f"{broker.bootstrap_servers} answers")
        assert check(tmp_path, settings, "--probe", "safe-to-stop") == 2
        assert "has no address that could be asked" in capsys.readouterr().err


def answer(status: str, body: str) -> bytes:
    return f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\n\r\n{body}".encode()


@pytest.mark.parametrize(
    ("sent", "words"),
    [
        (answer("503 Service Unavailable", '{"reasons": ["a", "b 37 %"]}'), "says no to /readyz: a; b 37 %"),
        (answer("421 Misdirected Request", '{"error": "not here"}'), "says no to /readyz: not here"),
        (answer("500 Internal Server Error", "not JSON"), "says no to /readyz: 500"),
        (answer("500 Internal Server Error", "[" * 60_000), "says no to /readyz: 500"),
        (answer("500 Internal Server Error", '{"reasons": 1}'), "says no to /readyz: 500"),
        (answer("20", "{}"), "does not answer as an HTTP server does"),
        (b"\0\0\0\x06\0\0\0\x01\0\0", "does not answer as an HTTP server does"),
        (b"", "does not answer as an HTTP server does"),
    ],
)  # fmt: skip
def test_answer_other_than_200_fails_with_its_reasons_in_one_line(
    sent: bytes, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with somebody_else(say(sent)) as address:
        assert check(tmp_path, {LISTENERS: f"HTTP://{address}"}, "--probe", "readyz") == 1
    assert capsys.readouterr().err == f"pybroker: {address} {words}\n"


def test_server_that_does_not_answer_in_time_fails_the_probe(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with somebody_else(say_nothing) as address:
        arguments = ["--probe", "livez", "--timeout", "0.05"]
        assert check(tmp_path, {LISTENERS: f"HTTP://{address}"}, *arguments) == 1
    assert capsys.readouterr().err == f"pybroker: {address} does not answer within 0.05 s\n"


def test_probe_of_an_address_by_kafkas_protocol_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["healthcheck", "--probe", "livez", "--bootstrap-server", "localhost:9092"]) == 2
    assert "give --config, not --bootstrap-server" in capsys.readouterr().err
