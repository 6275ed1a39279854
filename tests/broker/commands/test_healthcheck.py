"""``pybroker healthcheck`` prints one line and returns an exit code, for any kind of server."""

import socket
from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.commands.command_line import main
from pybroker.broker.commands.healthcheck import reachable_listener
from pybroker.broker.metadata.address import local_address
from pybroker.config.load import unchecked_config
from support.in_process.one_answer import say, say_nothing, somebody_else
from support.in_process.tls_ends import STORES
from support.in_process.tls_settings import ssl_listener


def free_address() -> str:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return f"127.0.0.1:{listening.getsockname()[1]}"


def test_healthcheck_describes_the_cluster_of_a_running_broker(capsys: pytest.CaptureFixture[str]) -> None:
    with Broker({"broker.id": "7"}) as broker:
        assert main(["healthcheck", "--bootstrap-server", broker.bootstrap_servers]) == 0
        output = capsys.readouterr()
        assert output.err == ""
        assert output.out.startswith(f"{broker.bootstrap_servers} answers: cluster ")
        assert output.out.endswith(f", broker 7 at {broker.bootstrap_servers}\n")
        broker.kill()
        assert main(["healthcheck", "--bootstrap-server", broker.bootstrap_servers]) == 1


def test_healthcheck_asks_the_broker_of_the_other_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYBROKER_BOOTSTRAP", f"{free_address()},localhost:1")
    assert main(["healthcheck"]) == 1
    with Broker() as broker:
        assert main(["healthcheck", "-b", broker.bootstrap_servers]) == 0
        monkeypatch.setenv("PYBROKER_BOOTSTRAP", f"{broker.bootstrap_servers},localhost:1")
        capsys.readouterr()
        assert main(["healthcheck"]) == 0
        assert capsys.readouterr().out.startswith(f"{broker.bootstrap_servers} answers")


def test_healthcheck_finds_the_address_in_the_brokers_settings(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Broker() as broker:
        file = tmp_path / "server.properties"
        file.write_text(f"listeners=PLAINTEXT://{broker.bootstrap_servers}\n")
        assert main(["healthcheck", "--config", str(file)]) == 0
        assert capsys.readouterr().out.startswith(f"{broker.bootstrap_servers} answers")


@pytest.mark.parametrize(
    ("listeners", "address"),
    [
        ("PLAINTEXT://:9092", "localhost:9092"),
        ("PLAINTEXT://0.0.0.0:9093", "127.0.0.1:9093"),
        ("PLAINTEXT://[::]:9093", "localhost:9093"),
        ("INTERNAL://broker-1:9094,PLAINTEXT://:9092", "broker-1:9094"),
    ],
)
def test_listening_address_is_reachable_from_the_same_machine(listeners: str, address: str) -> None:
    protocols = "INTERNAL:PLAINTEXT,PLAINTEXT:PLAINTEXT"
    config = unchecked_config("", {"listeners": listeners, "listener.security.protocol.map": protocols})
    listener = reachable_listener(config)
    assert str(local_address(listener.host, listener.port)) == address


def test_healthcheck_reaches_a_listener_on_every_address_without_ipv6(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with Broker() as broker:  # as on a machine without IPv6, only an IPv4 address is bound
        port = broker.bootstrap_servers.rpartition(":")[2]
        file = tmp_path / "server.properties"
        file.write_text(f"listeners=PLAINTEXT://[::]:{port}\n")
        assert main(["healthcheck", "--config", str(file)]) == 0
        assert capsys.readouterr().out.startswith(f"localhost:{port} answers")


@pytest.mark.parametrize("client_auth", ["none", "required"])
def test_healthcheck_speaks_tls_with_the_stores_of_the_broker(
    client_auth: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = {**ssl_listener(store="deep-server", trusted="authority"), "ssl.client.auth": client_auth}
    with Broker(settings) as broker:
        settings["listeners"] = f"SSL://{broker.bootstrap_servers}"
        file = tmp_path / "server.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        assert main(["healthcheck", "--config", str(file)]) == 0
        assert capsys.readouterr().out.startswith(f"{broker.bootstrap_servers} answers")
        other = {**settings, "ssl.keystore.location": str(STORES / "server.pem")}
        file.write_text("".join(f"{name}={value}\n" for name, value in other.items() if "truststore" not in name))
        line = fails_with_one_line(capsys, 1, "--config", str(file))
        assert "cannot be reached over TLS: its certificate is not signed by an authority" in line


def fails_with_one_line(capsys: pytest.CaptureFixture[str], code: int, *arguments: str) -> str:
    assert main(["healthcheck", *arguments]) == code
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err.startswith("pybroker: ")
    assert output.err.count("\n") == 1
    return output.err


def test_healthcheck_fails_when_the_connection_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    address = free_address()
    line = fails_with_one_line(capsys, 1, "--bootstrap-server", address)
    assert line == f"pybroker: {address} cannot be reached: Connection refused\n"


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"\0\0\0\x06\0\0\0\x01\0\0",  # versions: no error, and then nothing
        b"\0\0\0\x0a\0\0\0\x09\0\0\0\0\0\0",  # a response to a request that was not sent
        b"\0\0\0\x0a\0\0\0\x01",  # half a response
        b"\x15\x03\x03\0\x02\x02\x46",  # a TLS alert
    ],
)
def test_healthcheck_fails_when_the_server_is_not_a_broker(answer: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    with somebody_else(say(answer)) as address:
        line = fails_with_one_line(capsys, 1, "--bootstrap-server", address)
    assert line.startswith(f"pybroker: {address} does not answer as a Kafka broker does: it ")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (b"\0\0\0\x0a\0\0\0\x01\0\x23\0\0\0\0", "refuses to list its API versions: UNSUPPORTED_VERSION"),
        (
            b"\0\0\0\x10\0\0\0\x01\0\0\0\0\0\1\0\3\0\x63\0\x64",
            "cannot be asked for its cluster: it serves Metadata in versions 99-100, but this client needs 1-13",
        ),
        (b"\0\0\0\x0a\0\0\0\x01\0\0\0\0\0\0", "cannot be asked for its cluster: it does not serve Metadata"),
    ],
)
def test_healthcheck_names_a_refused_or_unusable_version(
    answer: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with somebody_else(say(answer)) as address:
        assert words in fails_with_one_line(capsys, 1, "--bootstrap-server", address)


def test_healthcheck_fails_when_the_server_does_not_answer_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    with somebody_else(say_nothing) as address:
        line = fails_with_one_line(capsys, 1, "--bootstrap-server", address, "--timeout", "0.05")
    assert line == f"pybroker: {address} does not answer within 0.05 s\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--bootstrap-server", "localhost"], "must be one HOST:PORT"),
        (["--bootstrap-server", "::1:9092"], "must be one HOST:PORT"),
        (["--bootstrap-server", "a:9092,b:9092"], "must be one HOST:PORT"),
        (["--bootstrap-server", "localhost:0"], "must be one HOST:PORT"),
        (["--bootstrap-server", "localhost:65536"], "must be one HOST:PORT"),
        (["--timeout", "0"], "--timeout 0: must be above 0"),
        (["--timeout", "nan"], "--timeout nan: must be above 0"),
        (["--timeout", "soon"], "--timeout"),
        (["--config", "/no/such/file"], "/no/such/file: cannot be read"),
        (["9092"], "see pybroker healthcheck --help"),
    ],
)
def test_bad_arguments_end_with_exit_code_2(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert words in fails_with_one_line(capsys, 2, *arguments)


def test_settings_without_a_fixed_port_ask_for_bootstrap_server(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "server.properties"
    file.write_text("listeners=PLAINTEXT://127.0.0.1:0\n")
    assert "give --bootstrap-server" in fails_with_one_line(capsys, 2, "--config", str(file))


def test_help_describes_the_healthcheck_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["healthcheck", "--help"]) == 0
    text = capsys.readouterr().out
    assert "--bootstrap-server HOST:PORT" in text
    assert "--override" not in text
    assert main(["--help"]) == 0
    assert "healthcheck" in capsys.readouterr().out


def test_command_after_options_is_refused_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--log-level", "info", "healthcheck"]) == 2
    assert "a command must be the first argument" in capsys.readouterr().err
