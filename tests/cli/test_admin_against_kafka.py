"""Commands that administer a cluster, against Apache Kafka 3.9.1."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pybroker.cli.acls.shapes import AccessRule, AccessVerdict
from pybroker.cli.cluster.shapes import ClusterHealth, ClusterNumbers, Election, LogDirectory, PartitionMoveState
from pybroker.cli.completion import live_names
from pybroker.cli.completion.candidates import candidates
from pybroker.cli.configs.shapes import Setting, SettingDifference
from pybroker.cli.doctor.shapes import Diagnosis
from pybroker.cli.explain.shapes import TopicExplanation
from pybroker.cli.quotas.shapes import Quota
from pybroker.cli.top.shapes import TopView
from pybroker.cli.topics.shapes import PartitionOffsets, TopicDescription, Truncation
from pybroker.cli.users.shapes import ScramUser
from support.clients.commands import checked_json, run
from support.clients.produced import KEEPS_OLD_RECORDS, numbered, produce
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess

pytestmark = pytest.mark.long

ROUNDS = 1000
AUTHORIZER = {"authorizer.class.name": "kafka.security.authorizer.AclAuthorizer", "super.users": "User:ANONYMOUS"}


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    directory = tmp_path_factory.mktemp("kafka")
    zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
    kafka = KafkaProcess(directory / "kafka", zookeeper, {**AUTHORIZER, **KEEPS_OLD_RECORDS}).start()
    try:
        yield kafka.bootstrap_servers
    finally:
        kafka.stop()
        zookeeper.kill()


def done(servers: str, *arguments: str) -> str:
    ran = run(servers, *arguments)
    assert ran.code == 0, ran.err
    return ran.out


def some_rows(servers: str, shape: type, *arguments: str) -> list[dict[str, Any]]:
    """The rows of a command as soon as there are any: a broker learns of changed settings a moment later."""
    for _ in range(ROUNDS):
        if rows := checked_json(servers, shape, *arguments):
            return rows
    pytest.fail(f"no rows: {arguments}")


def test_doctor(servers: str) -> None:
    rows = {row["check"]: row for row in checked_json(servers, Diagnosis, "doctor")}
    assert [number for number, row in rows.items() if row["verdict"] in ("warn", "FAIL")] == []
    assert [number for number, row in rows.items() if row["verdict"] == "skipped"] == ["D05"]
    assert rows["D07"]["finding"] == "all speak like Kafka 3.9"


def test_retention_is_explained(servers: str) -> None:
    done(servers, "topics", "create", "kept", "-p", "2", "-c", "retention.ms=86400000", "--wait")
    assert done(servers, "explain", "retention", "kept").startswith("kept keeps 1 d and any size\n")


def test_topic_is_explained(servers: str) -> None:
    done(servers, "topics", "create", "explained", "-p", "2", "-c", "min.insync.replicas=2", "--wait")
    done(servers, "bench", "produce", "explained", "--records", "1000")
    (view,) = checked_json(servers, TopicExplanation, "explain", "topic", "explained")
    assert (view["is_writable"], view["not_told"]) == (True, []), "the bench wrote with acks=all"
    assert [each["kind"] for each in view["findings"]] == ["min_isr_above_replicas"]
    assert {"name": "min.insync.replicas", "value": "2", "source": "topic"} in view["settings"]
    assert [each["partitions"] for each in view["producers"]] == [[0, 1]]


def test_top_and_bench_consume(servers: str) -> None:
    done(servers, "topics", "create", "busy", "-p", "2", "--wait")
    done(servers, "bench", "produce", "busy", "--records", "1000")
    assert done(servers, "bench", "consume", "busy").splitlines()[1].split(", ")[4] == "1000"
    done(servers, "groups", "reset", "behind", "--to", "earliest", "--topics", "busy", "--execute")
    (view,) = checked_json(servers, TopView, "top", "-d", "0.1")
    (topic,) = [each for each in view["topics"] if each["topic"] == "busy"]
    assert (topic["partitions"], topic["records_per_s"], topic["size_bytes"] > 100_000) == (2, 0.0, True)
    assert [each["lag"] for each in view["groups"] if each["group"] == "behind"] == [1000]
    assert view["problems"] == []


def test_topics(servers: str) -> None:
    done(servers, "topics", "create", "orders", "-p", "2", "-c", "retention.bytes=-1", "--wait")
    done(servers, "topics", "alter", "orders", "-c", "retention.bytes-", "-c", "max.message.bytes=2000000")
    done(servers, "topics", "grow", "orders", "-p", "3")
    done(servers, "topics", "copy", "orders", "copied", "--configs-only")
    for view in checked_json(servers, TopicDescription, "topics", "describe", "orders", "copied"):
        assert [each["name"] for each in view["settings"]] == ["max.message.bytes"]
        assert (len(view["partitions"]), view["min_isr"]) == (3, 1)
    produce(servers, numbered("orders", [0], 10))
    (cut,) = checked_json(servers, Truncation, "topics", "truncate", "orders:0", "--before", "4", "-y")
    assert cut["new_start"] == 4
    done(servers, "topics", "empty", "orders", "-y")
    (offsets,) = checked_json(servers, PartitionOffsets, "topics", "offsets", "orders:0", "--at", "1d")
    assert (offsets["start"], offsets["end"], offsets["at"]) == (10, 10, None)
    assert run(servers, "topics", "grow", "orders", "-p", "2").code == 1
    assert run(servers, "topics", "alter", "orders", "-c", "nonsense=1", "--dry-run").code == 1


def test_configs(servers: str) -> None:
    done(servers, "topics", "create", "settings")
    done(servers, "configs", "set", "brokers", "log.cleaner.threads=2")
    (of_all,) = some_rows(servers, Setting, "configs", "get", "brokers")
    assert (of_all["name"], of_all["is_default"]) == ("log.cleaner.threads", False)
    done(servers, "configs", "unset", "brokers", "log.cleaner.threads")
    done(servers, "configs", "set", "topic/settings", "retention.ms=5")
    done(servers, "topics", "create", "others")
    differences = some_rows(servers, SettingDifference, "configs", "diff", "topic/settings", "topic/others")
    assert [each["name"] for each in differences] == ["retention.ms"]
    (documented,) = checked_json(
        servers, Setting, "configs", "get", "topic/others", "-n", "retention.ms", "--with-docs"
    )
    assert documented["documentation"]


def test_rights_users_and_quotas(servers: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    done(servers, "acls", "add", "--allow", "alice", "--write", "--topic", "pay", "--prefixed")
    assert len(checked_json(servers, AccessRule, "acls", "list", "--topic", "payments", "--applying")) == 1
    (verdict,) = checked_json(servers, AccessVerdict, "acls", "check", "alice", "describe", "topic/payments")
    assert verdict["rule"]["operation"] == "Write"
    assert run(servers, "acls", "check", "bob", "write", "topic/payments").code == 4
    done(servers, "acls", "remove", "--allow", "alice", "-y")
    assert checked_json(servers, AccessRule, "acls", "list") == []
    file = tmp_path_factory.mktemp("password") / "file"
    file.write_text("s3cret")
    done(servers, "users", "add", "alice", "--password-file", str(file))
    (user,) = checked_json(servers, ScramUser, "users", "list")
    assert len(user["credentials"]) == 2
    done(servers, "users", "remove", "alice", "-y")
    assert run(servers, "users", "list", "alice").code == 3
    done(servers, "quotas", "set", "--user", "alice", "--client-default", "--produce", "1MB", "--mutations", "2")
    assert len(checked_json(servers, Quota, "quotas", "list", "--user", "alice")) == 2
    done(servers, "quotas", "unset", "--user", "alice", "--client-default")
    assert checked_json(servers, Quota, "quotas", "list") == []


def test_cluster_and_transactions(servers: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    done(servers, "topics", "create", "moved", "-p", "2", "--wait")
    (numbers,) = checked_json(servers, ClusterNumbers, "cluster", "info")
    assert numbers["brokers"] == 1
    assert checked_json(servers, ClusterHealth, "cluster", "health")[0]["problems"] == []
    done(servers, "cluster", "wait", "--healthy", "--brokers", "1", "--topic", "moved")
    assert checked_json(servers, LogDirectory, "cluster", "log-dirs")[0]["total"]
    assert {each["result"] for each in checked_json(servers, Election, "cluster", "elect", "moved")} == {"not needed"}
    file = tmp_path_factory.mktemp("plan") / "plan.json"
    file.write_text(done(servers, "cluster", "reassign", "plan", "moved"))
    done(servers, "cluster", "reassign", "execute", str(file))
    states = checked_json(servers, PartitionMoveState, "cluster", "reassign", "verify", str(file))
    assert {each["state"] for each in states} == {"done"}
    assert done(servers, "cluster", "reassign", "cancel", "--all") == ""
    assert done(servers, "txns", "list") == ""
    assert done(servers, "txns", "hanging") == ""
    assert run(servers, "txns", "describe", "missing").code == 3
    assert run(servers, "txns", "abort", "moved:0", "--start-offset", "0", "-y").code == 3


def test_bench_and_completion_work_with_kafka(servers: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("PYBROKER_BOOTSTRAP", servers)
    monkeypatch.setattr(live_names, "_LIMIT_S", 60.0)
    done(servers, "topics", "create", "measured", "-p", "3", "--wait")
    assert done(servers, "bench", "produce", "measured", "--records", "5000").startswith("5000 records sent, ")
    rows = checked_json(servers, PartitionOffsets, "topics", "offsets", "measured")
    assert sum(row["end"] for row in rows) == 5000
    for words, expected in [
        (["topics", "describe"], "measured"),
        (["configs", "set"], "topic/measured"),
        (["configs", "set", "topic/measured"], "retention.ms="),
    ]:
        assert expected in candidates([*words, ""], {}, live_names.live_names)
