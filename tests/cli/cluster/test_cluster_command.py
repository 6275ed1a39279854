"""`pybroker cluster` against a broker in this process, and against three brokers."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pybroker import Broker, Cluster
from pybroker.cli.cluster.shapes import (
    ClusterBroker,
    ClusterHealth,
    ClusterNumbers,
    Election,
    LogDirectory,
    PartitionMove,
    PartitionMoveState,
    ReassignmentPlan,
)
from pybroker.cli.explain.shapes import TopicExplanation
from pybroker.config.authorization import ACL_AUTHORIZER
from support.clients.commands import checked_json, rows_of, run
from support.clients.produced import Produced, produce


@pytest.fixture(scope="module")
def servers() -> Iterator[str]:
    with Broker({"broker.id": "3"}) as broker:
        run(broker.bootstrap_servers, "topics", "create", "orders", "-p", "2", "--wait")
        yield broker.bootstrap_servers


def test_numbers_brokers_and_directories_are_shown(servers: str) -> None:
    (numbers,) = checked_json(servers, ClusterNumbers, "cluster", "info")
    assert (numbers["controller"], numbers["brokers"]) == (3, 1)
    (broker,) = checked_json(servers, ClusterBroker, "cluster", "brokers")
    assert (broker["broker"], broker["is_controller"], broker["out_of_sync"]) == (3, True, 0)
    (directory,) = checked_json(servers, LogDirectory, "cluster", "log-dirs")
    assert directory["error"] is None
    assert directory["total"] >= directory["usable"] > 0
    assert run(servers, "cluster", "log-dirs", "9").code == 1


def test_health_asks_for_no_more_replicas_in_sync_than_there_are(servers: str) -> None:
    healthy = run(servers, "cluster", "health")
    assert (healthy.code, healthy.out.split(":")[0]) == (0, "healthy")
    run(servers, "topics", "create", "narrow", "-p", "1", "-c", "min.insync.replicas=2")
    produce(servers, [Produced("narrow", 0, -1, -1, None, b"value")])  # with acks=all; the broker takes it
    assert checked_json(servers, ClusterHealth, "cluster", "health")[0]["is_healthy"]
    run(servers, "topics", "delete", "narrow", "-y")


def test_unreachable_cluster_is_unhealthy() -> None:
    ran = run("127.0.0.1:1", "cluster", "health", "--timeout", "1")
    assert (ran.code, ran.out[:9]) == (10, "UNHEALTHY")


def test_wait_ends_when_all_conditions_hold_or_the_time_is_over(servers: str) -> None:
    ready = run(servers, "cluster", "wait", "--healthy", "--brokers", "1", "--topic", "orders")
    assert (ready.code, ready.out) == (0, "")
    late = run(servers, "cluster", "wait", "--brokers", "2", "--timeout", "0.1")
    assert (late.code, late.err) == (5, "pybroker: after 0.1 s still: 1 of 2 brokers are alive\n")
    assert run(servers, "cluster", "wait", "--topic", "missing", "--timeout", "0.1").code == 5
    assert run("127.0.0.1:1", "cluster", "wait", "--timeout", "0.1").code == 5
    assert run(servers, "cluster", "wait", "--topic", "no name").code == 1  # such a topic can never exist


def test_user_who_sees_nothing_waits_for_nothing() -> None:
    authorizer = {"authorizer.class.name": ACL_AUTHORIZER, "super.users": "User:admin"}
    with Broker(authorizer) as broker:
        ran = run(broker.bootstrap_servers, "cluster", "wait", "--healthy", "--timeout", "600")
    line = "pybroker: health cannot be judged: there is no topic that this user may see\n"
    assert (ran.code, ran.out, ran.err) == (4, "", line)


def test_leaders_are_elected_only_where_another_is_preferred(servers: str) -> None:
    rows = checked_json(servers, Election, "cluster", "elect", "orders:1")
    assert rows == [{"topic": "orders", "partition": 1, "result": "not needed"}]
    assert run(servers, "cluster", "elect").code == 2
    assert run(servers, "cluster", "elect", "orders", "--unclean").code == 2  # no terminal to ask on


def test_plan_is_printed_executed_and_verified(servers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "plan.json"
    file.write_text(run(servers, "cluster", "reassign", "plan", "orders").out)
    (plan,) = checked_json(servers, ReassignmentPlan, "cluster", "reassign", "plan", "orders")
    assert [each["replicas"] for each in plan["partitions"]] == [[3], [3]]
    as_json = tmp_path / "plan-in-a-list.json"
    as_json.write_text(json.dumps([plan]))
    listed = checked_json(servers, PartitionMove, "cluster", "reassign", "execute", str(as_json), "--dry-run")
    moves = checked_json(servers, PartitionMove, "cluster", "reassign", "execute", str(file), "--dry-run")
    assert listed == moves
    assert [each["is_dry_run"] for each in moves] == [True, True]
    assert run(servers, "cluster", "reassign", "execute", str(file)).code == 0
    states = checked_json(servers, PartitionMoveState, "cluster", "reassign", "verify", str(file))
    assert {each["state"] for each in states} == {"done"}
    other = json.dumps({"partitions": [{"topic": "orders", "partition": 0, "replicas": [7]}]})
    monkeypatch.setattr("sys.stdin", io.StringIO(other))
    assert run(servers, "cluster", "reassign", "verify", "-").code == 10
    assert run(servers, "cluster", "reassign", "verify").out == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["plan"], "give the topics"),
        (["plan", "orders", "--brokers", "3,x"], "must be ids"),
        (["plan", "orders", "--brokers", "9"], "broker 9 is not alive"),
        (["plan", "orders", "-r", "2"], "2 replicas need 2 brokers"),
        (["execute"], "one file"),
        (["execute", "/missing"], "cannot be read"),
        (["cancel"], "or --all"),
    ],
)
def test_wrong_reassignments_are_bad_arguments(servers: str, arguments: list[str], words: str) -> None:
    ran = run(servers, "cluster", "reassign", *arguments)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert words in ran.err


def test_partitions_leave_a_broker_whose_end_is_then_no_problem(tmp_path: Path) -> None:
    with Cluster(3) as cluster:
        servers = cluster.bootstrap_servers
        run(servers, "topics", "create", "orders", "-p", "4", "-r", "2", "--wait")
        file = tmp_path / "plan.json"
        file.write_text(run(servers, "cluster", "reassign", "plan", "orders", "--brokers", "1,2").out)
        assert run(servers, "cluster", "reassign", "execute", str(file)).code == 0
        assert run(servers, "cluster", "reassign", "verify", str(file), "--wait", "60").code == 0
        cluster.stop(3)
        assert run(servers, "cluster", "wait", "--healthy", "--topic", "orders").code == 0
        cluster.stop(2)
        unhealthy = run(servers, "cluster", "health")
        assert unhealthy.code == 10
        assert "orders-0, orders-1, orders-2, orders-3" in unhealthy.out
        explained = run(servers, "explain", "topic", "orders", "-o", "json")
        (view,) = rows_of(explained.out, TopicExplanation)
        assert (explained.code, view["is_writable"]) == (10, False), "min.insync.replicas of the cluster is 2"
        assert [(each["kind"], each["culprit"]) for each in view["findings"] if each["is_trouble"]] == [
            ("under_min_isr", "broker 2 is not alive")
        ]
