"""Tests of the library's Cluster: brokers can be killed, paused and cut off, and end with the program."""

import asyncio
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from confluent_kafka import Producer
from pybroker import Cluster
from pybroker.broker.library.broker_probe import metadata_of
from pybroker.broker.library.cluster.blocking_cluster import BlockingCluster
from pybroker.broker.library.cluster.mode import Mode
from pybroker.broker.metadata.address import Address
from pybroker.broker.start_error import StartError
from pybroker.config.config_error import ConfigError
from support.clients.kafka_tools import TOOLS, run_tool
from support.clients.kept_records import read_all
from support.load.cluster_view import ClusterView
from support.processes.java import java_executable, zookeeper_libs
from support.processes.ports import free_port
from support.processes.process_state import descendants_naming, has_ended
from support.processes.zookeeper_tree import client_of
from support.time.patience import await_that


@pytest.fixture(
    params=[{"mode": "thread"}, {"mode": "process"}, pytest.param({}, marks=pytest.mark.long)],
    ids=["threads", "processes", "ZooKeeper in Java"],
)
def place(request: pytest.FixtureRequest) -> dict[str, Any]:
    """Where the members of a cluster run: arguments of `Cluster`."""
    place: dict[str, Any] = request.param
    return place or {"zookeeper": request.getfixturevalue("java_tree")}


def produce(servers: str, *values: bytes) -> None:
    producer = Producer({"bootstrap.servers": servers, "acks": "all", "message.timeout.ms": 0})
    for value in values:
        producer.produce("events", value, partition=0)
    producer.flush()


def brokers_known_to(cluster: BlockingCluster, broker: int) -> set[int]:
    address = Address.parse(cluster.bootstrap_server(broker))
    return {each.node_id for each in metadata_of(address, 60.0).brokers}


def test_cluster_survives_a_killed_leader_and_takes_it_back(place: dict[str, Any]) -> None:
    with Cluster(3, {"num.partitions": 1}, **place) as cluster:
        produce(cluster.bootstrap_servers, b"one")
        view = ClusterView(cluster)
        leader = view.leader("events", 0)
        cluster.kill(leader)
        assert not cluster.is_running(leader)
        produce(cluster.bootstrap_servers, b"two")
        cluster.start(leader)
        view.await_health()
        assert [value for _, value in read_all(cluster.bootstrap_servers, "events", 0)] == [b"one", b"two"]
        directory = cluster.data_directory(1)
    assert not directory.exists()
    with pytest.raises(RuntimeError, match="was not started"):
        print(cluster.bootstrap_servers)


def test_paused_and_disconnected_brokers_are_removed_and_return(place: dict[str, Any]) -> None:
    with Cluster(2, {"zookeeper.session.timeout.ms": 2000}, **place) as cluster:
        cluster.pause(2)
        assert cluster.is_running(2)
        await_that(lambda: brokers_known_to(cluster, 1) == {1}, "broker 2 is missed")
        cluster.resume(2)
        await_that(lambda: brokers_known_to(cluster, 1) == {1, 2}, "broker 2 is back")
        cluster.cut(1, "zookeeper")
        await_that(lambda: brokers_known_to(cluster, 2) == {2}, "broker 1 is missed")
        cluster.heal(1, "zookeeper")
        await_that(lambda: brokers_known_to(cluster, 2) == {1, 2}, "broker 1 is back")


def test_cut_between_two_brokers_stops_replication_until_it_is_healed(place: dict[str, Any]) -> None:
    settings = {"num.partitions": 1, "min.insync.replicas": 1, "replica.lag.time.max.ms": 1000}
    with Cluster(3, settings, **place) as cluster:
        produce(cluster.bootstrap_servers, b"one")
        away: set[int] = set()
        view = ClusterView(cluster, away)
        view.await_health()
        leader, controller = view.leader("events", 0), view.controller()
        follower = next(broker for broker in cluster.broker_ids if broker not in (leader, controller))
        away.add(follower)  # the broker does not hear of it if the leader is the controller
        cluster.cut(leader, follower)
        produce(cluster.bootstrap_servers, b"two")
        await_that(lambda: follower not in view.isr("events", 0), "whoever is asked has heard that it is out")
        cluster.heal(follower, leader)
        away.clear()
        view.await_health()


@pytest.mark.parametrize("mode", ["thread", "process"])
async def test_cluster_can_be_used_on_an_event_loop(mode: Mode) -> None:
    async with Cluster(1, mode=mode) as cluster:
        await asyncio.to_thread(produce, cluster.bootstrap_servers, b"one")
        await cluster.kill(1)
        await cluster.start(1)
        await asyncio.to_thread(produce, cluster.bootstrap_servers, b"two")
        await cluster.pause(1)
        await cluster.resume(1)
        await cluster.expire(1)
        pid = cluster.pid(1) if mode == "process" else None
    assert pid is None or has_ended(pid)


async def test_cancelled_start_leaves_no_processes_and_no_directory(tmp_path: Path) -> None:
    nowhere = f"127.0.0.1:{free_port()}"  # the broker keeps trying to connect
    cluster = Cluster(1, directory=tmp_path, zookeeper=nowhere)
    starting = asyncio.ensure_future(cluster.__aenter__())
    here = str(tmp_path)
    await asyncio.to_thread(await_that, lambda: bool(descendants_naming(here)), "the broker has been started")
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert not descendants_naming(here)


@pytest.mark.parametrize("has_java", [False, pytest.param(True, marks=pytest.mark.long)])
def test_data_in_a_given_directory_is_used_by_the_next_cluster(has_java: bool, tmp_path: Path) -> None:
    libs = zookeeper_libs() if has_java else None
    if has_java and (java_executable() is None or libs is None):
        pytest.skip("no Java, or no jars of ZooKeeper")
    for values in ([b"one"], [b"two"]):
        with Cluster(2, {"num.partitions": 1}, directory=tmp_path, zookeeper_jars=libs) as cluster:
            produce(cluster.bootstrap_servers, *values)
            ClusterView(cluster).await_health()
    for broker in (1, 2):
        assert (tmp_path / f"broker-{broker}" / "data" / ".kafka_cleanshutdown").exists()
        log = tmp_path / f"broker-{broker}" / "data" / "events-0" / "00000000000000000000.log"
        assert b"one" in log.read_bytes() and b"two" in log.read_bytes()  # noqa: PT018


@pytest.mark.parametrize("has_java", [False, pytest.param(True, marks=pytest.mark.long)])
def test_processes_of_a_cluster_end_when_the_program_is_killed(has_java: bool, tmp_path: Path) -> None:
    if has_java and (java_executable() is None or zookeeper_libs() is None):
        pytest.skip("no Java, or no jars of ZooKeeper")
    place = f"zookeeper_jars={str(zookeeper_libs())!r}" if has_java else "mode='process'"
    program = "\n".join(
        [
            "import os, psutil, signal",
            "from pybroker import Cluster",
            f"with Cluster(1, {place}) as cluster:",
            "    guards = [child.pid for child in psutil.Process(cluster.pid(1)).children()]",
            f"    print(cluster.pid(1), *[cluster.pid('zookeeper') for _ in range({has_java:d})], *guards, flush=True)",
            "    os.kill(os.getpid(), signal.SIGKILL)",
        ]
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    assert done.returncode == -signal.SIGKILL
    pids = [int(pid) for pid in done.stdout.split()]
    assert len(pids) == 2 + has_java, "a broker, a guard, and perhaps ZooKeeper"
    for pid in pids:
        await_that(partial(has_ended, pid), "the member has ended")


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere they give up by themselves")
def test_session_guards_end_sessions_and_exit_when_a_cluster_ends(tree: str) -> None:
    with Cluster(2, zookeeper=tree) as cluster:
        guards = [guard for broker in cluster.broker_ids for guard in children_of(cluster.pid(broker))]
        assert len(guards) == 2
        cluster.pause(2)
    assert all(map(has_ended, guards))
    with client_of(tree) as client:
        assert client.get_children("/brokers/ids") == []


def children_of(pid: int | None) -> list[int]:
    return [child.pid for child in psutil.Process(pid).children()]


def test_invalid_cluster_is_refused_in_one_line(tmp_path: Path, tree: str) -> None:
    with pytest.raises(ConfigError, match=r"^num\.partition \(given to Cluster\): there is no such setting"):
        Cluster(1, {"num.partition": 1})
    with pytest.raises(ConfigError, match=r"^listeners \(given to Cluster\): the cluster chooses it itself$"):
        Cluster(1, {"listeners": "PLAINTEXT://:9092"})
    with pytest.raises(ValueError, match="at least one broker"):
        Cluster(0)
    with pytest.raises(StartError, match="contains no jar of ZooKeeper"), Cluster(1, zookeeper_jars=tmp_path):
        raise AssertionError
    with (
        pytest.raises(StartError, match=r"broker 1 ended before it was ready"),
        Cluster(1, {"log.dirs": "/proc/{id}/nowhere"}, zookeeper=tree),
    ):
        raise AssertionError
    with Cluster(1, zookeeper=tree) as cluster:
        with pytest.raises(ValueError, match="the cluster has no broker 2"):
            cluster.kill(2)
        with pytest.raises(ValueError, match="has not started ZooKeeper"):
            cluster.kill("zookeeper")
        with pytest.raises(ValueError, match="1 has no connection to itself"):
            cluster.cut(1, 1)
        with pytest.raises(RuntimeError, match="already running"):
            cluster.start(1)
        with pytest.raises(RuntimeError, match="a real ZooKeeper ends no session on request"):
            cluster.expire(1)


def test_cluster_on_threads_refuses_what_it_cannot_do(tree: str) -> None:
    with pytest.raises(ValueError, match="give no `zookeeper`"):
        Cluster(1, mode="thread", zookeeper=tree)
    with pytest.raises(ValueError, match="'thread' or 'process', not 'java'"):
        Cluster(1, mode="java")  # type: ignore[arg-type]
    with (
        pytest.raises(StartError, match=r"broker 1 ended before it was ready: .*/proc/1/nowhere"),
        Cluster(1, {"log.dirs": "/proc/{id}/nowhere"}),
    ):
        raise AssertionError
    with Cluster(1) as cluster:
        for member in (1, "zookeeper"):
            with pytest.raises(RuntimeError, match="has no process of its own"):
                cluster.pid(member)
        cluster.kill(1)
        with pytest.raises(RuntimeError, match="broker 1 is not registered"):
            cluster.expire(1)
        with pytest.raises(RuntimeError, match="broker 1 is not running"):
            cluster.pause(1)


def test_paused_broker_on_a_thread_is_killed_before_it_does_anything_else() -> None:
    with Cluster(2, {"num.partitions": 1, "min.insync.replicas": 1}) as cluster:
        produce(cluster.bootstrap_servers, b"one")
        view = ClusterView(cluster)
        leader = view.leader("events", 0)
        (other,) = {1, 2} - {leader}
        cluster.pause(leader)
        cluster.pause(leader)
        cluster.kill(leader)
        await_that(lambda: view.brokers_known_to(other) == {other}, "the killed broker is missed")
        cluster.start(leader)
        cluster.pause(other)
        cluster.stop(other)
        cluster.start(other)
        produce(cluster.bootstrap_servers, b"two")
        view.await_health()
        assert [value for _, value in read_all(cluster.bootstrap_servers, "events", 0)] == [b"one", b"two"]


def test_broker_on_a_thread_whose_session_expires_registers_again() -> None:
    with Cluster(2) as cluster, client_of(cluster.zookeeper) as client:
        before = client.exists("/brokers/ids/2").ephemeralOwner
        cluster.expire(2)
        await_that(
            lambda: (stat := client.exists("/brokers/ids/2")) is not None and stat.ephemeralOwner != before,
            "broker 2 registers again",
        )
        await_that(lambda: brokers_known_to(cluster, 1) == {1, 2}, "broker 2 is back")


@pytest.mark.parametrize(
    ("mode", "away"),
    [
        ("thread", "killed"),
        ("thread", "paused"),
        ("process", "killed"),
        pytest.param("process", "paused", marks=pytest.mark.long),
    ],
)
def test_brokers_outlive_the_absence_of_the_metadata_store(mode: Mode, away: str) -> None:
    settings = {"num.partitions": 1, "zookeeper.session.timeout.ms": 1000}
    with Cluster(2, settings, mode=mode) as cluster:
        with client_of(cluster.zookeeper) as client:
            before = {name: client.exists(f"/brokers/ids/{name}").czxid for name in "12"}
        (cluster.kill if away == "killed" else cluster.pause)("zookeeper")
        end_s = time.monotonic() + 1.5
        await_that(lambda: time.monotonic() > end_s, "sessions would be over")
        (cluster.start if away == "killed" else cluster.resume)("zookeeper")
        produce(cluster.bootstrap_servers, b"one")
        ClusterView(cluster).await_health()
        if mode == "thread":
            with client_of(cluster.zookeeper) as client:
                assert {name: client.exists(f"/brokers/ids/{name}").czxid for name in "12"} == before
        assert [value for _, value in read_all(cluster.bootstrap_servers, "events", 0)] == [b"one"]


def test_log_lines_of_a_broker_on_a_thread_are_in_its_own_file(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "pybroker")
    with Cluster(2) as cluster:
        cluster.stop(1)
        lines = {broker: cluster.log_file(broker).read_text() for broker in (1, 2)}
    assert "broker 1" in lines[1]
    assert lines[2]
    assert not set(lines[1].splitlines()) & set(lines[2].splitlines())


@contextmanager
def cluster_command(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    """The process of the command, killed at the end if it has not ended."""
    command = [sys.executable, "-m", "pybroker", "cluster", *arguments]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as process:
        try:
            yield process
        finally:
            process.kill()


def test_cluster_command_obeys_typed_commands_and_ends_on_ctrl_c(tmp_path: Path) -> None:
    arguments = ["2", "--directory", str(tmp_path), "--override", "num.partitions=2"]
    with cluster_command(*arguments) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        first = [process.stdout.readline() for _ in range(6)]
        assert first[0].startswith("bootstrap servers: 127.0.0.1:")
        assert first[1].startswith("zookeeper: 127.0.0.1:")
        assert "broker 2: 127.0.0.1:" in first[3]
        console = first[4].partition(": ")[2].split()
        assert console[:4] == ["pybroker", "console", "--bootstrap-server", first[0].split()[-1]]
        for url in console[5::2]:
            with urllib.request.urlopen(f"{url}/readyz", timeout=60) as answer:
                assert answer.status == 200
        for typed, answer in (
            ("kill 1", "done"),
            ("start 1", "done"),
            ("cut 1 2", "done"),
            ("expire 2", "done"),
            ("expire zookeeper", "the sessions that expire are those of brokers"),
            ("kill 3", "the cluster has no broker 3"),
            ("jump", first[5].strip()),
            ("kill x", first[5].strip()),
        ):
            process.stdin.write(typed + "\n")
            assert process.stdout.readline().strip() == answer
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "stopped\n"
        assert process.wait() == 0
    assert (tmp_path / "broker-2" / "data" / ".kafka_cleanshutdown").exists()


def test_cluster_command_tells_clients_how_to_reach_a_secured_cluster(tmp_path: Path, tree: str) -> None:
    password = 'canary "a\\b", ½'
    arguments = ["1", "--zookeeper", tree, "--directory", str(tmp_path)]
    with cluster_command(*arguments, "--tls", "--user", f"alice={password}", "--user", "bob=canary") as process:
        assert process.stdout is not None
        said = [process.stdout.readline().strip() for _ in range(7)]
        servers = said[0].partition(": ")[2]
        authority = tmp_path / "certificates" / "ca.pem"
        assert said[3] == (
            f"clients: security protocol SASL_SSL; the authority to trust is {authority};"
            " alice, bob may log in by PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"
        )
        file = tmp_path / "client.properties"
        assert said[4] == f"settings for Java's clients and Kafka's tools as alice: {file}"
        known = ["--bootstrap-server", servers, "--command-config", str(file)]
        assert f" console {' '.join(known)} --v1 http://127.0.0.1:" in said[5]
        assert "Created topic orders" in run_tool(f"{TOOLS}.TopicCommand", *known, "--create", "--topic", "orders")
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "stopped\n"
        assert process.wait() == 0
    assert "canary" not in "".join(said) + (tmp_path / "broker-1" / "output.log").read_text()
