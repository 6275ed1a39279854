"""``pybroker user`` writes SCRAM users to the embedded store, and shows no secrets."""

import asyncio
import getpass
import io
import sys
from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.broker.commands.command_line import main
from pybroker.broker.commands.users.opened_user_store import opened_user_store
from pybroker.broker.security.sasl.scram_administration import credentials_in
from pybroker.broker.security.sasl.scram_credential import ScramCredential
from pybroker.config.load import load_config
from pybroker.protocol.scram import SCRAM_MECHANISMS
from pybroker.storage.files.files import Files

PASSWORD = "canary secret"


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object, password: str = f"{PASSWORD}\n") -> int:
    monkeypatch.setattr(sys, "stdin", io.StringIO(password))
    return main(["user", *map(str, arguments)])


async def stored(place: Path, node: str) -> dict[str, str]:
    async with opened_user_store(str(place), load_config("")) as store:
        return await store._tree.config("users", node)


def raise_error(*arguments: object) -> None:
    raise AssertionError("the credential is malformed")


def test_user_is_stored_for_all_mechanisms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "set", "ann/a", "--place", tmp_path, "--iterations", 5000) == 0
    found = credentials_in(asyncio.run(stored(tmp_path, "ann%2Fa")), raise_error)
    for name, mechanism in SCRAM_MECHANISMS.items():
        salt = found[name].salt
        assert found[name] == ScramCredential.of_password(mechanism, PASSWORD, salt, 5000)
    assert found["SCRAM-SHA-256"].salt != found["SCRAM-SHA-512"].salt
    output = capsys.readouterr()
    assert output.out == "user 'ann/a' was set for SCRAM-SHA-256, SCRAM-SHA-512\n"
    assert PASSWORD.encode() not in b"".join(file.read_bytes() for file in tmp_path.iterdir())


def test_users_are_listed_and_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run(monkeypatch, "set", "b", "--place", tmp_path, "--mechanism", "SCRAM-SHA-512")
    run(monkeypatch, "set", "a b", "--place", tmp_path)
    capsys.readouterr()
    assert run(monkeypatch, "list", "--place", tmp_path) == 0
    assert capsys.readouterr().out == "'a b': SCRAM-SHA-256, SCRAM-SHA-512\n'b': SCRAM-SHA-512\n"
    assert run(monkeypatch, "remove", "b", "--place", tmp_path) == 0
    assert run(monkeypatch, "remove", "b", "--place", tmp_path) == 1
    run(monkeypatch, "list", "--place", tmp_path)
    output = capsys.readouterr()
    assert output.out == "user 'b' was removed\n'a b': SCRAM-SHA-256, SCRAM-SHA-512\n"
    assert "user 'b' has no SCRAM credentials" in output.err


async def test_other_settings_of_the_user_stay(tmp_path: Path) -> None:
    credential = ScramCredential.of_salted_password(SCRAM_MECHANISMS["SCRAM-SHA-256"], b"x", b"s", 4096)
    async with opened_user_store(str(tmp_path), load_config("")) as store:
        await store._tree.create_persistent_paths()
        await store._tree.change_config("users", "a", lambda settings: {"producer_byte_rate": "5"})
        await store.set_user("a", {"SCRAM-SHA-256": credential})
        assert (await store._tree.config("users", "a"))["producer_byte_rate"] == "5"
        assert await store.users() == {"a": ["SCRAM-SHA-256"]}
        assert await store.remove_user("a")
        assert await store._tree.config("users", "a") == {"producer_byte_rate": "5"}
        assert await store.users() == {}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["set", "a"], "--place is missing; to ask a cluster that runs: pybroker users add"),
        (["list"], "--place is missing; to ask a cluster that runs: pybroker users list"),
        (["add", "a", "--place", "."], "add: must be set, remove or list; to ask a cluster that runs: pybroker users"),
        (["set", "--place", "."], "need the name of a user"),
        (["list", "a", "--place", "."], "list takes none"),
        (["set", "", "--place", "."], "must not be empty"),
        (["move", "a", "--place", "."], "invalid choice"),
        (["set", "a", "--place", ".", "--iterations", "4095"], "must be from 4096 to 16384, not 4095"),
        (["set", "a", "--place", ".", "--mechanism", "PLAIN"], "invalid choice"),
        (["set", "a", "--place", "/no/such"], "/no/such: there is no such directory"),
    ],
)
def test_bad_arguments_are_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    assert run(monkeypatch, *arguments) == 2
    assert says in capsys.readouterr().err


def test_empty_password_is_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "set", "a", "--place", tmp_path, password="\n") == 2
    assert "the password is empty" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_password_is_asked_for_twice_on_a_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = iter(["secret", "other"])
    monkeypatch.setattr(getpass, "getpass", lambda prompt: next(answers))

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    assert main(["user", "set", "a", "--place", str(tmp_path)]) == 2
    assert "the two passwords differ" in capsys.readouterr().err


def test_directory_of_a_running_broker_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lock = Files().lock_directory(str(tmp_path))
    try:
        assert run(monkeypatch, "set", "a", "--place", tmp_path) == 1
    finally:
        lock.release()
    assert "is in use by another broker" in capsys.readouterr().err


def test_broker_starts_for_the_first_time_with_the_users(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "set", "a", "--place", tmp_path) == 0
    with Broker({"log.dirs": tmp_path}):
        pass
    capsys.readouterr()
    assert run(monkeypatch, "list", "--place", tmp_path) == 0
    assert capsys.readouterr().out == "'a': SCRAM-SHA-256, SCRAM-SHA-512\n"
