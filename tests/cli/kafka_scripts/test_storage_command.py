"""``kafka-storage format`` for a pybroker, whose directories Kafka's script has never seen."""

from pathlib import Path

import pytest
from pybroker.broker.commands.command_line import main

FORMAT = ("kafka-storage", "format", "--cluster-id", "rqLCxXzMRjWTp3kJ2dUUyA", "--config")


def settings(directory: Path, meta: str) -> str:
    """The file of settings of a single KRaft node, whose log directory has this ``meta.properties``."""
    (directory / "data").mkdir()
    (directory / "data" / "meta.properties").write_text(meta)
    file = directory / "server.properties"
    file.write_text(
        "process.roles=broker,controller\nnode.id=1\ncontroller.quorum.voters=1@localhost:9093\n"
        "listeners=PLAINTEXT://:9092,CONTROLLER://:9093\ncontroller.listener.names=CONTROLLER\n"
        f"log.dirs={directory / 'data'}\n"
    )
    return str(file)


def test_format_of_the_directory_of_a_pybroker_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    meta = "version=0\nbroker.id=1\ncluster.id=another\n"
    file = settings(tmp_path, meta)
    assert main([*FORMAT, file, "--ignore-formatted"]) == 0
    assert capsys.readouterr().out == "All of the log directories are already formatted.\n"
    assert main([*FORMAT, file]) == 1
    assert "is already formatted. Use --ignore-formatted" in capsys.readouterr().err
    assert (tmp_path / "data" / "meta.properties").read_text() == meta


@pytest.mark.parametrize(
    ("meta", "extra", "words"),
    [
        ("version=1\nnode.id=1\ncluster.id=another\n", [], "Expected rqLCxXzMRjWTp3kJ2dUUyA, but read another"),
        ("version=0\n", ["--add-scram", "SCRAM-SHA-256=name=a,password=b"], "must be like SCRAM-SHA-256=[name="),
        ("version=0\n", ["--add-scram", "SCRAM-SHA-1=[name=a,password=b]"], "must be like SCRAM-SHA-256=[name="),
        ("version=0\n", ["--add-scram", "SCRAM-SHA-256=[name=a,salt=b]"], "'salt' cannot be given"),
        ("version=0\n", ["--add-scram", "SCRAM-SHA-256=[name=a]"], "password is missing"),
        ("version=0\n", ["--add-scram", "SCRAM-SHA-512=[name=a,password=b,iterations=1]"], "must be from 4096"),
    ],
)
def test_format_that_would_not_do_what_it_says_is_refused(
    tmp_path: Path, meta: str, extra: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*FORMAT, settings(tmp_path, meta), "--ignore-formatted", *extra]) == 1
    printed = capsys.readouterr()
    assert (printed.out, printed.err.count("\n"), words in printed.err) == ("", 1, True)


def test_format_makes_the_users_of_add_scram(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = settings(tmp_path, "version=0\n")
    added = ["--add-scram", "SCRAM-SHA-512=[name=alice,password=secret,iterations=8192]"]
    added += ["--add-scram", "SCRAM-SHA-256=[name=bob,password=a=b]"]
    assert main([*FORMAT, file, "--ignore-formatted", *added]) == 0
    assert capsys.readouterr().out == "All of the log directories are already formatted.\n"
    assert main(["user", "list", "--place", str(tmp_path / "data")]) == 0
    assert capsys.readouterr().out == "'alice': SCRAM-SHA-512\n'bob': SCRAM-SHA-256\n"
