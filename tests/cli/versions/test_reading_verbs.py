"""Commands print documented shapes for pybroker and for Kafka 2.1, 3.9 and 4.1."""

import json
import time
from collections.abc import Collection, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from pybroker.cli.document import SCHEMA_FILE
from pybroker.cli.nouns import NOUNS
from support.clients.commands import Ran, run
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_versions import started_kafka
from support.source_tree import ROOT
from support.time.patience import await_answer
from support.transactions.hanging_transaction import UNVERIFIED, begin_hanging_transaction

HOUR_MS = 3_600_000
SCHEMAS = json.loads((ROOT / "docs" / "user" / SCHEMA_FILE).read_text())["components"]
ARGUMENTS = {
    "acls check": ("alice", "read", "topic/{t}"),
    "configs diff": ("topic/{t}", "topic/{t}-2"),
    "configs get": ("topic/{t}", "--with-docs"),
    "consume": ("{t}", "--until", "end"),
    "explain acl": ("--user", "alice", "--operation", "Read", "--topic", "{t}"),
    "explain group": ("{t}-group", "--for", "0"),
    "explain lag": ("{t}-group", "--for", "0"),
    "explain offset": ("{t}:0", "1"),
    "explain retention": ("{t}",),
    "explain topic": ("{t}",),
    "groups describe": ("{t}-group",),
    "groups export": ("{t}-group",),
    "groups lag": ("{t}-group", "--all"),
    "top": ("-d", "0.1"),
    "topics describe": ("{t}", "--consumers"),
    "topics offsets": ("{t}", "--at", "1h"),
    "txns describe": ("{t}-id",),
}
"""The arguments of verbs that need some."""
NEEDS_PYBROKER = "groups timeline"
MAY_BE_EMPTY = {"cluster reassign verify", "txns hanging"}
TOO_OLD = {"quotas list", "txns list", "txns describe", "txns hanging", "users list", "cluster reassign verify"}
"""Verbs whose requests Kafka 2.1 does not know."""


def reading_verbs() -> Iterator[tuple[str, Collection[str]]]:
    """Every verb that changes nothing and prints rows, and the names of their shapes."""
    for noun in (lazy.load() for lazy in NOUNS.values()):
        for verb in noun.verbs:
            name = f"{noun.name} {verb.name}".strip()
            if verb.rows and not verb.changes and name != NEEDS_PYBROKER:
                yield name, [row.__name__ for row in verb.rows]
    yield "cluster reassign verify", ["PartitionMoveState"]


def prepare(servers: str, topic: str, tmp_path: Path, too_old: Collection[str] = ()) -> None:
    def done(*arguments: str) -> Ran:
        ran = run(servers, *arguments)
        assert ran.code == 0, ran.err
        return ran

    for name, kept in ((topic, "-1"), (f"{topic}-2", "1048576")):
        done("topics", "create", name, "-p", "2", "-c", f"retention.bytes={kept}", "-r", "1", "--wait")
    if "quotas list" not in too_old:
        done("quotas", "set", "--user", "alice", "--produce", "2MiB")
    if "users list" not in too_old:
        (tmp_path / "password").write_text("secret")
        done("users", "add", "alice", "--scram", "256", "--password-file", str(tmp_path / "password"))
    (tmp_path / "lines").write_text("".join(f"{number}\n" for number in range(3_000)))
    done("produce", topic, "-l", str(tmp_path / "lines"), "-p", "0", "--batch", "5000", "--compression", "lz4")
    (tmp_path / "lines").write_text("a\nb\n")
    done("produce", topic, "-l", str(tmp_path / "lines"), "-p", "1", "--transactional-id", f"{topic}-id")
    done("acls", "add", "--allow", "alice", "--read", "--topic", topic)
    read = done("consume", topic, "-g", f"{topic}-group", "--commit", "--until", "end", "--read-committed")
    assert sorted(read.out.splitlines()) == sorted([*map(str, range(3_000)), "a", "b"])
    assert done("consume", f"{topic}:0", "--until", "end", "--filter", "value=1777").out == "1777\n"
    for noun in ("acls", *(each for each in ("quotas", "users") if f"{each} list" not in too_old)):
        await_answer(
            partial(run, servers, noun, "list", "-o", "json"), lambda ran: "alice" in ran.out, f"{noun} are known"
        )


def documented(shapes: Collection[str]) -> Any:
    anyone = [{"$ref": f"#/components/schemas/{shape}"} for shape in shapes]
    return jsonschema_rs.validator_for({"type": "array", "items": {"anyOf": anyone}, "components": SCHEMAS})


def check(
    servers: str, topic: str, too_old: Collection[str] = (), may_be_empty: Collection[str] = MAY_BE_EMPTY
) -> None:
    """Run every reading verb; all failures are told together."""
    failures = []
    for name, shapes in reading_verbs():
        form = ("--format", "json") if name == "consume" else ("-o", "json")
        ran = run(servers, *name.split(), *(each.format(t=topic) for each in ARGUMENTS.get(name, ())), *form)
        if name in too_old:
            if ran.code not in (1, 5) or ran.err.count("\n") != 1 or json.loads(ran.out or "[]"):
                failures.append(f"{name}: exits with {ran.code}: {ran.err}")
            continue
        if ran.code not in (0, 4, 10):
            failures.append(f"{name}: exits with {ran.code}: {ran.err}")
            continue
        rows = json.loads(ran.out or "[]")
        failures += [f"{name}: {error}" for error in documented(shapes).iter_errors(rows)]
        if not rows and name not in may_be_empty:
            failures.append(f"{name}: no rows: {ran.err}")
    assert failures == []


def test_pybroker_gives_the_documented_shapes(tmp_path: Path) -> None:
    authorizer = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:ANONYMOUS"}
    with BrokerProcess(tmp_path / "broker", {**authorizer, **UNVERIFIED}) as broker:
        prepare(broker.bootstrap_servers, "t", tmp_path)
        begin_hanging_transaction(broker.bootstrap_servers, "t-2", 0, round(time.time() * 1000) - HOUR_MS)
        check(broker.bootstrap_servers, "t", may_be_empty=MAY_BE_EMPTY - {"txns hanging"})


@pytest.mark.parametrize(
    ("version", "too_old"),
    [
        ("3.9.1", ()),
        pytest.param("2.1.1", TOO_OLD, marks=pytest.mark.long),
        pytest.param("4.1.1", (), marks=pytest.mark.long),
    ],
)
def test_kafka_gives_the_documented_shapes(version: str, too_old: Collection[str], tmp_path: Path) -> None:
    with started_kafka(version, tmp_path) as servers:
        prepare(servers, "t", tmp_path, too_old)
        check(servers, "t", too_old)
