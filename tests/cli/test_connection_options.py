"""Tests of the options that say which cluster a command talks to."""

from argparse import Namespace
from pathlib import Path

import pytest
from pybroker.base.command_parser import CommandError, CommandParser
from pybroker.broker.commands.command_line import main
from pybroker.cli.connecting.connection_options import add_connection_options, client_settings
from pybroker.cli.kafka_scripts.client_properties import client_of
from pybroker.cli.kafka_scripts.script_cluster import script_cluster
from pybroker.client.client_settings import ClientSettings
from support.processes.ports import free_port


def settings(*arguments: str, **environment: str) -> ClientSettings:
    parser = CommandParser("pybroker")
    add_connection_options(parser)
    return client_settings(parser.parse_args(arguments), environment)


def test_address_without_any_option_is_that_of_a_local_broker() -> None:
    assert settings().bootstrap_servers == (("localhost", 9092),)


def test_address_comes_from_the_nearest_place(tmp_path: Path) -> None:
    (tmp_path / "pybroker").mkdir()
    (tmp_path / "pybroker" / "profiles.toml").write_text('[prod]\n"bootstrap.servers" = "profile:1"\n')
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=file:2\n")
    places = {"PYBROKER_BOOTSTRAP": "ours:3", "KAFKA_BOOTSTRAP_SERVERS": "kafkas:4", "XDG_CONFIG_HOME": str(tmp_path)}
    options = ["-b", "option:5", "-X", "bootstrap.servers=x:6", "--command-config", str(file), "--profile", "prod"]
    hosts = [settings(*options[start:], **places).bootstrap_servers[0][0] for start in range(0, 10, 2)]
    assert hosts == ["option", "x", "file", "profile", "ours"]
    assert settings(KAFKA_BOOTSTRAP_SERVERS="kafkas:4").bootstrap_servers == (("kafkas", 4),)


def test_profile_may_write_names_without_quotes(tmp_path: Path) -> None:
    (tmp_path / "pybroker").mkdir()
    text = '[prod]\nbootstrap.servers = "a:1"\nssl.endpoint.identification.algorithm = ""\nsecurity.protocol = "SSL"\n'
    (tmp_path / "pybroker" / "profiles.toml").write_text(text)
    found = settings("--profile", "prod", XDG_CONFIG_HOME=str(tmp_path))
    assert found.bootstrap_servers == (("a", 1),)
    assert found.security.tls is not None
    assert not found.security.tls.check_hostname


def test_settings_of_other_clients_are_passed_over(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "client.properties"
    file.write_text("group.id=g\nacks=all\n")
    assert settings("--command-config", str(file), "-X", "acks=all").security.sasl is None
    script_cluster(Namespace(command_config=file, bootstrap_server="a:1"))
    assert capsys.readouterr().err == ""


def test_settings_of_no_client_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "client.properties"
    file.write_text("security.protocl=SSL\nacks=all\nowner=me\n")
    assert main(["topics", "list", "--command-config", str(file), "-b", f"127.0.0.1:{free_port()}"]) == 1
    *lines, _ = capsys.readouterr().err.splitlines()
    assert lines == [
        "passed over: owner: clients have no such setting",
        "passed over: security.protocl: clients have no such setting; did you mean security.protocol?",
    ]
    script_cluster(Namespace(command_config=file, bootstrap_server="a:1"))
    client_of("a:1", {"owner": "me"}, "test")
    assert capsys.readouterr().err.splitlines() == [
        f"WARN These configurations '[{names}]' were supplied but are not used yet."
        for names in ("owner, security.protocl", "owner")
    ]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-b", "localhost"], "must be like host:9092"),
        (["-X", "acks"], "-X acks: must be NAME=VALUE"),
        (["--command-config", "/none"], "/none: cannot be read"),
        (["--profile", "prod"], "--profile prod: there is no file"),
        (["--timeout", "0"], "must be above 0"),
        (["--timeout", "soon"], "must be a number, not 'soon'"),
        (
            ["-X", "security.protocl=SSL"],
            "-X security.protocl: clients have no such setting; did you mean security.pro",
        ),
        (["-X", "security.protocol=TLS"], "must be one of PLAINTEXT"),
    ],
)
def test_bad_options_get_one_line(arguments: list[str], words: str) -> None:
    with pytest.raises(CommandError, match=words) as caught:
        settings(*arguments, XDG_CONFIG_HOME="/none")
    assert caught.value.exit_code == 2
