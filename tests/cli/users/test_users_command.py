"""`pybroker users` against a broker in this process, which lets the users in."""

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker import Broker
from pybroker.cli.users.shapes import ScramUser, UserChange
from support.clients.commands import checked_json, run

LOGIN = ["-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=SCRAM-SHA-512"]


def login_of(user: str, password: str) -> list[str]:
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    return [*LOGIN, "-X", f'sasl.jaas.config={module} required username="{user}" password="{password}";']


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker(users={"admin": "admin-secret"}) as broker:
        yield broker.bootstrap_servers


def test_added_user_can_log_in_until_it_is_removed(
    servers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    as_admin = login_of("admin", "admin-secret")
    file = tmp_path / "password"
    file.write_text("s3cret\nnot the password\n")
    added = run(servers, "users", "add", "alice", "--scram", "512", "--password-file", str(file), *as_admin)
    assert added.out == "USER   MECHANISMS     CHANGE\nalice  SCRAM-SHA-512  added\n"
    assert run(servers, "topics", "list", *login_of("alice", "s3cret")).code == 0
    monkeypatch.setattr("sys.stdin", io.StringIO("other\n"))
    assert run(servers, "users", "add", "alice", *as_admin).code == 0
    assert run(servers, "topics", "list", *login_of("alice", "s3cret")).code == 4
    assert run(servers, "topics", "list", *login_of("alice", "other")).code == 0
    (shown,) = checked_json(servers, ScramUser, "users", "list", "alice", *as_admin)
    assert [each["mechanism"] for each in shown["credentials"]] == ["SCRAM-SHA-256", "SCRAM-SHA-512"]
    assert run(servers, "users", "remove", "alice", *as_admin).code == 2  # no terminal to ask on
    (change,) = checked_json(servers, UserChange, "users", "remove", "alice", "--dry-run", *as_admin)
    assert change["is_dry_run"]
    assert run(servers, "users", "remove", "alice", "-y", *as_admin).code == 0
    assert run(servers, "topics", "list", *login_of("alice", "other")).code == 4
    assert run(servers, "users", "list", "alice", *as_admin).code == 3


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["add", "alice"], 2, "the password is empty"),
        (["add", "alice", "--password-file", "/missing"], 2, "cannot be read"),
        (["add", "alice", "--iterations", "5"], 2, "--iterations must be"),
        (["remove", "nobody", "-y"], 3, "no such SCRAM credentials"),
    ],
)
def test_refusals_are_one_line_with_an_exit_code(
    servers: str, monkeypatch: pytest.MonkeyPatch, arguments: list[str], code: int, words: str
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    ran = run(servers, "users", *arguments, *login_of("admin", "admin-secret"))
    assert (ran.code, ran.out, ran.err.count("\n")) == (code, "", 1)
    assert words in ran.err
