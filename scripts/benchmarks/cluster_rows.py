"""The rows of the cluster benchmark: replicated records, and gaps in acknowledgements when a broker fails."""

import re
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from pybroker.protocol.messages.metadata import MetadataResponsePartition
from support.processes.java import java_command
from support.time.deadline import wait_until

from benchmarks.clusters import BROKER_IDS, SESSION_TIMEOUT_MS, Cluster
from benchmarks.kafka_tools import create_topic_on, run_tool
from benchmarks.targets import Target, ratio_at_least, ratio_at_most
from benchmarks.transactions import Transactions
from benchmarks.workloads import DONE

__all__ = ["CLUSTER_ROWS", "ClusterRow", "warm_up_cluster"]

_GAPS = Path(__file__).with_name("AcknowledgementGaps.java")
_RATE = 1000
_PARTITIONS = 2000
_STOPS_AFTER_A_PING_S = (0.2, 0.5, 0.8, 1.1, 1.4)
"""Seconds from a broker's session ping to its stop. Pings are further apart: 2.0 s (a third of the session) with Java's
client, 1.6 to 2.0 s with kazoo.
"""
_BATCHES = ("acks=all", "linger.ms=5", "batch.size=65536")
_ONE_RECORD = ("acks=all", "linger.ms=0", "batch.size=1")
_QUIET_S = 3.0
"""Seconds of load before a failure and after recovery."""


@dataclass(frozen=True)
class ClusterRow:
    """One row. `run(cluster, scale)` returns figures by name and leaves all brokers running."""

    name: str
    targets: Sequence[Target]
    run: Callable[[Cluster, float], dict[str, float]]


def warm_up_cluster(cluster: Cluster) -> None:
    """Warms up both ways of producing, but not the failure paths: in production they are cold too."""
    _make_topic(cluster, "warm-up", BROKER_IDS)
    _produce(cluster, "warm-up", 200_000, _BATCHES)
    _produce(cluster, "warm-up", 4_000, _ONE_RECORD)


# -- replicated records


def _make_topic(cluster: Cluster, topic: str, replicas: Sequence[int]) -> None:
    """Creates a topic with one partition, led by the first of `replicas`."""
    create_topic_on(cluster.bootstrap_servers, topic, ":".join(map(str, replicas)))
    cluster.wait_until_in_sync(topic, 1)


def _produce(cluster: Cluster, topic: str, records: int, properties: Sequence[str]) -> dict[str, float]:
    used_before = cluster.cpu_seconds()
    output = run_tool(
        "org.apache.kafka.tools.ProducerPerformance",
        *("--topic", topic, "--num-records", str(records), "--record-size", "100", "--throughput", "-1"),
        *("--producer-props", f"bootstrap.servers={cluster.bootstrap_servers}", *properties),
    )
    used = cluster.cpu_seconds() - used_before
    last = output.strip().splitlines()[-1]
    match = re.search(r"(\d+) records sent, ([\d.]+) records/sec.*?([\d.]+) ms avg.*?([\d.]+) ms 99th", last)
    assert match is not None, output
    assert int(match[1]) == records, output
    return {
        "records/s": float(match[2]),
        "avg ms": float(match[3]),
        "p99 ms": float(match[4]),
        "broker CPU s": used,
    }


def _replicated(topic: str, records: int, properties: Sequence[str]) -> Callable[[Cluster, float], dict[str, float]]:
    def run(cluster: Cluster, scale: float) -> dict[str, float]:
        name = f"{topic}-{time.time_ns()}"
        _make_topic(cluster, name, (2, 3, 1))
        return _produce(cluster, name, int(records * scale), properties)

    return run


def _transactions(cluster: Cluster, scale: float) -> dict[str, float]:
    load = Transactions(f"transactions-{time.time_ns()}", producers=1, records=1, partitions=1)
    _make_topic(cluster, load.topic, (2, 3, 1))
    used_before = cluster.cpu_seconds()
    found = load.commit(cluster.bootstrap_servers, scale)
    del found[DONE]
    return {**found, "broker CPU s": cluster.cpu_seconds() - used_before}


# -- failures under load


class _Load:
    """A client that sends records at a steady rate and reports its longest time without an acknowledgement."""

    def __init__(self, servers: str, topic: str) -> None:
        command = java_command(str(_GAPS), servers, topic, str(_RATE), "100", str(3 * _RATE), heap="256m", options=())
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        first = self._process.stdout.readline()
        assert first == "steady\n", first

    def end(self) -> dict[str, float]:
        output, _ = self._process.communicate("end\n")
        figures = dict(re.findall(r"(\w+)=(\S+)", output))
        assert figures.get("failed") == "0", output
        assert figures["sent"] == figures["acknowledged"], output
        return {"longest gap ms": float(figures["longest_gap_ms"])}


@contextmanager
def _load_on(cluster: Cluster, leader_id: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Runs the load on a topic led by `leader_id`; yields the topic's name and the dict that will hold the figures."""
    topic = f"gaps-{time.time_ns()}"
    others = [broker_id for broker_id in BROKER_IDS if broker_id != leader_id]
    _make_topic(cluster, topic, (leader_id, *others))
    figures: dict[str, float] = {}
    load = _Load(cluster.bootstrap_servers, topic)
    try:
        time.sleep(_QUIET_S)
        yield topic, figures
        time.sleep(_QUIET_S)
    finally:
        figures |= load.end()


def _leader_for(cluster: Cluster) -> int:
    """Returns a broker that is not the controller, so that only one role fails."""
    controller_id = cluster.controller_id()
    return max(broker_id for broker_id in BROKER_IDS if broker_id != controller_id)


def _wait_for_another_leader(cluster: Cluster, topic: str, leader_id: int) -> None:
    others = [broker_id for broker_id in cluster.up if broker_id != leader_id]

    def has_moved() -> bool:
        known = cluster.partitions(others[0], topic)
        return bool(known) and known[0].leader_id not in (leader_id, -1)

    wait_until(has_moved, f"another leader of {topic}")


def _leader_killed(cluster: Cluster, scale: float) -> dict[str, float]:
    leader_id = _leader_for(cluster)
    with _load_on(cluster, leader_id) as (topic, figures):
        cluster.kill(leader_id)
        _wait_for_another_leader(cluster, topic, leader_id)
    cluster.start_broker(leader_id)
    cluster.wait_until_in_sync(topic, 1)
    return figures


def _leader_stopped(cluster: Cluster, scale: float) -> dict[str, float]:
    """Returns the mean of several stops. Nearly all of a gap is the rest of the session, which depends on the last
    ping, so both kinds of broker are stopped at the same times after a ping.
    """
    return {"longest gap ms": mean(_gap_of_a_stop(cluster, later_s) for later_s in _STOPS_AFTER_A_PING_S)}


def _gap_of_a_stop(cluster: Cluster, later_s: float) -> float:
    leader_id = _leader_for(cluster)
    with _load_on(cluster, leader_id) as (topic, figures):
        cluster.wait_for_a_ping(leader_id)
        time.sleep(later_s)
        cluster.pause(leader_id)
        try:
            _wait_for_another_leader(cluster, topic, leader_id)
            time.sleep(_QUIET_S)
        finally:
            cluster.resume(leader_id)
        cluster.wait_until_in_sync(topic, 1)
    return figures["longest gap ms"]


def _leader_shut_down(cluster: Cluster, scale: float) -> dict[str, float]:
    leader_id = _leader_for(cluster)
    with _load_on(cluster, leader_id) as (topic, figures):
        cluster.shut_down(leader_id)
    cluster.start_broker(leader_id)
    cluster.wait_until_in_sync(topic, 1)
    return figures


def _controller_killed(cluster: Cluster, scale: float) -> dict[str, float]:
    """Measures from the end of the process until all remaining brokers know a living leader of each partition."""
    topic = f"many-{time.time_ns()}"
    count = max(int(_PARTITIONS * scale), 3)
    cluster.create_topic(topic, count)
    cluster.wait_until_in_sync(topic, count)
    time.sleep(_QUIET_S)
    controller_id = cluster.controller_id()
    cluster.kill(controller_id)
    started = time.monotonic()

    def is_led(partition: MetadataResponsePartition) -> bool:
        return partition.leader_id not in (controller_id, -1)

    for broker_id in cluster.up:
        wait_until(
            lambda broker_id=broker_id: all(map(is_led, cluster.partitions(broker_id, topic))),  # type: ignore[misc]
            f"broker {broker_id} knows all leaders",
        )
    taken = time.monotonic() - started
    cluster.start_broker(controller_id)
    cluster.wait_until_in_sync(topic, count)
    return {"s": taken}


def _memory(cluster: Cluster, scale: float) -> dict[str, float]:
    return {"MiB": cluster.memory_mib()}


CLUSTER_ROWS = (
    ClusterRow(
        "cluster: produce 1 M x 100 B, 3 replicas, acks=all",
        (ratio_at_least("records/s", 1.3),),
        _replicated("plain", 1_000_000, _BATCHES),
    ),
    ClusterRow(
        "cluster: produce 20 K x 100 B, 3 replicas, acks=all, one record a request",
        (ratio_at_least("records/s", 1.3),),
        _replicated("single", 20_000, _ONE_RECORD),
    ),
    ClusterRow(
        "cluster: transactions of one record, one producer, 3 replicas",
        (ratio_at_least("transactions/s", 2.0), ratio_at_most("p99 ms", 0.5)),
        _transactions,
    ),
    ClusterRow(
        f"cluster: leader's process killed, {_RATE:,} records/s, sessions of {SESSION_TIMEOUT_MS // 1000} s",
        (ratio_at_most("longest gap ms", 0.15),),
        _leader_killed,
    ),
    ClusterRow(
        f"cluster: leader stopped by SIGSTOP, the same load, mean of {len(_STOPS_AFTER_A_PING_S)}",
        (ratio_at_most("longest gap ms", 1.0),),
        _leader_stopped,
    ),
    ClusterRow(
        "cluster: controlled shutdown of the leader, the same load",
        (ratio_at_most("longest gap ms", 1.0),),
        _leader_shut_down,
    ),
    ClusterRow(
        "cluster: controller's process killed, 2,000 partitions, until all leaders are known",
        (ratio_at_most("s", 1.0),),
        _controller_killed,
    ),
    ClusterRow("cluster: memory of the three brokers after it", (ratio_at_most("MiB", 0.15),), _memory),
)
