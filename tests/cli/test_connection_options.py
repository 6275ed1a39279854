"""Tests of the options that say which cluster a command talks to."""

from argparse import Namespace
from pathlib import Path

import pytest
from pybroker.base.command_parser import CommandError, CommandParser
from pybroker.broker.commands.command_line import main
from pybroker.cli.connecting.connection_options import add_connection_options, client_settings
from pybroker.cli.connecting.profiles import PROFILES_EXAMPLE
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


def profiles(directory: Path, text: str) -> Path:
    """The file of profiles under this XDG_CONFIG_HOME."""
    file = directory / "pybroker" / "profiles.toml"
    file.parent.mkdir()
    file.write_text(text)
    return file


def test_example_of_profiles_is_a_profile(tmp_path: Path) -> None:
    profiles(tmp_path, PROFILES_EXAMPLE)
    found = settings("--profile", "prod", XDG_CONFIG_HOME=str(tmp_path))
    assert found.bootstrap_servers == (("kafka-1.example.org", 9093), ("kafka-2.example.org", 9093))
    assert found.security.sasl is not None
    assert settings("--profile", "test", XDG_CONFIG_HOME=str(tmp_path)).security.sasl is None


def test_list_in_a_profile_is_a_text_with_commas(tmp_path: Path) -> None:
    profiles(tmp_path, '[prod]\nbootstrap.servers = ["a:1", "b:2"]\n')
    assert settings("--profile", "prod", XDG_CONFIG_HOME=str(tmp_path)).bootstrap_servers == (("a", 1), ("b", 2))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[prod]\nbootstrap.servers = "a:1"\nacks = all\n', ", line 3: invalid value; texts need quotes, as in "),
        ('[prod]\nbootstrap.servers "a:1"\n', ", line 2: expected '=' after a key in a key/value pair"),
        ('[prod\nbootstrap.servers = "a:1"\n', ", line 1: expected ']' at the end of a table declaration"),
        ('[prod]\nbootstrap.servers = "a:1\n', ", line 2: illegal character "),
        ("[prod]\n[prod]\n", ", line 2: cannot declare "),
        ('[prod]\nacks = "all"\nretries = 1979-05-27\n', ", line 3: retries must be a text, a number or true"),
        ('[prd]\nacks = "all"\n', " has no [prod]; profiles: prd"),
        ("", " has no [prod]; profiles: none"),
    ],
)
def test_mistake_in_a_file_of_profiles_is_told_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    file = profiles(tmp_path, text)
    with pytest.raises(CommandError) as caught:
        settings("--profile", "prod", XDG_CONFIG_HOME=str(tmp_path))
    assert str(caught.value).startswith(f"--profile prod: {file}{words}")
    assert "\n" not in str(caught.value)


def test_setting_of_no_client_in_a_profile_is_told_with_its_line(tmp_path: Path) -> None:
    text = '[test]\n"bootstrap.server" = "a:1"\n\n[ "prod" ] # comment\nacks = "all"\n"bootstrap.server" = "a:1"\n'
    file = profiles(tmp_path, text)
    told: list[str] = []
    parser = CommandParser("pybroker")
    add_connection_options(parser)
    client_settings(parser.parse_args(["--profile", "prod"]), {"XDG_CONFIG_HOME": str(tmp_path)}, told.append)
    hint = "did you mean bootstrap.servers?"
    assert told == [f"{file}, line 6: passed over: bootstrap.server: clients have no such setting; {hint}"]


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
