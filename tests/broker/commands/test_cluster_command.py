"""``pybroker cluster N`` checks its arguments, and writes settings that clients understand."""

import json
import re
import signal
import stat
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pybroker.broker.commands.client_settings import client_settings, write_client_settings
from pybroker.broker.commands.command_line import main
from pybroker.config.jaas import parse_jaas_config
from pybroker.config.properties import read_properties
from pybroker.protocol.client import Credentials
from support.clients.commands import run

texts = st.text(st.characters(exclude_categories=["C"]), min_size=1)


@given(texts, texts)
def test_any_user_and_password_survive_the_file(
    tmp_path_factory: pytest.TempPathFactory, user: str, password: str
) -> None:
    file = tmp_path_factory.getbasetemp() / "client.properties"
    login = Credentials("SCRAM-SHA-512", user, password)
    write_client_settings(file, client_settings(Path("/tmp/ca.pem"), login))
    found = {name: line.value for name, line in read_properties(file).items()}
    jaas = parse_jaas_config(found.pop("sasl.jaas.config"), "SCRAM-SHA-512")
    assert jaas.options == {"username": user, "password": password}
    assert found == {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": "/tmp/ca.pem",
        "sasl.mechanism": "SCRAM-SHA-512",
    }


def test_settings_name_only_what_the_cluster_asks_for(tmp_path: Path) -> None:
    assert client_settings(None, None) == {"security.protocol": "PLAINTEXT"}
    assert client_settings(Path("ca.pem"), None)["security.protocol"] == "SSL"
    settings = client_settings(None, Credentials("PLAIN", "alice", "secret"))
    assert settings["security.protocol"] == "SASL_PLAINTEXT"
    assert not any(name.startswith("ssl.") for name in settings)
    write_client_settings(tmp_path / "client.properties", settings)
    assert stat.S_IMODE((tmp_path / "client.properties").stat().st_mode) == 0o600


@pytest.mark.parametrize("text", ["canary", "=canary", "canary="])
def test_user_without_name_or_password_is_refused_without_showing_it(
    text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cluster", "1", "--user", text]) == 2
    error = capsys.readouterr().err
    assert error == "pybroker: argument --user: must be NAME=PASSWORD (see pybroker cluster N --help)\n"


def test_help_of_cluster_tells_of_a_cluster_on_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cluster", "--help"]) == 0
    assert "\n  N         run N brokers on this machine" in capsys.readouterr().out
    assert main(["cluster", "3", "--help"]) == 0
    assert "usage: pybroker cluster N [options]" in capsys.readouterr().out


def test_cluster_raises_the_levels_of_newer_groups_and_takes_acts_at_the_address_of_its_test_kit() -> None:
    program = "import sys; from pybroker.broker.commands.command_line import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, "cluster", "1", "--test-kit"]
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            lines = []
            for line in process.stdout:
                lines.append(line)
                if line.startswith("commands to type"):
                    break
            (url,) = re.findall(r"^test kit of the cluster: (\S+)", "".join(lines), re.MULTILINE)
            (servers,) = re.findall(r"^bootstrap servers: (\S+)", "".join(lines), re.MULTILINE)
            assert run(servers, "cluster", "features", "group.version=1", "share.version=1").code == 0
            request = urllib.request.Request(f"{url}/v1/test/acts/kill", b'{"broker": 1}')
            with urllib.request.urlopen(request, timeout=60) as response:
                assert json.load(response) == {"act": "kill", "result": None}
        finally:
            process.send_signal(signal.SIGTERM)
    assert process.returncode == 0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["0"], "0: a cluster needs at least one broker"),
        (["1", "--override", "num.partition=1"], "num.partition (given to Cluster): there is no such setting"),
        (["1", "--nothing"], "unrecognized arguments: --nothing"),
    ],
)
def test_impossible_cluster_is_refused_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["cluster", *arguments]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"pybroker: {words}")
    assert error.count("\n") == 1
