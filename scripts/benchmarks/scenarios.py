"""Rows that need their own brokers: start, memory at rest, cost of idle connections."""

import resource
import socket
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from pybroker.protocol.apis import ApiKey
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.messages.metadata import MetadataRequest
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import AS_DEFAULT, KafkaProcess, ZooKeeperProcess
from support.processes.ports import free_port

from benchmarks.contestants import Contestant, Running, cpu_seconds, kafka_as_shipped, resident_mib
from benchmarks.kafka_tools import create_topic
from benchmarks.targets import Target, at_most
from benchmarks.wire import exchange, first_acknowledged_record

__all__ = ["SCENARIOS", "Scenario"]

_IDLE_CONNECTIONS = 1000
_IDLE_PARTITIONS = 2000


@dataclass(frozen=True)
class Scenario:
    """A row. `run(contestants, scale)` starts its brokers and returns figures by contestant and name."""

    name: str
    targets: Sequence[Target]
    run: Callable[[Sequence[Contestant], float], dict[str, dict[str, float]]]


def start_up(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    """Measures from the start of the process to the first acknowledged record. ZooKeeper runs before Kafka starts."""
    figures = {}
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        zookeeper = ZooKeeperProcess(Path(directory) / "zookeeper", AS_DEFAULT).start()
        pybroker = BrokerProcess(Path(directory) / "pybroker")
        pybroker.port = free_port()
        kafka = kafka_as_shipped(Path(directory) / "kafka", zookeeper)
        brokers: dict[str, BrokerProcess | KafkaProcess] = {"pybroker": pybroker, "kafka": kafka}
        for contestant in contestants:
            broker = brokers[contestant.name]
            started = time.monotonic()
            broker.begin()
            acknowledged = first_acknowledged_record(broker.port, started + 60)
            figures[contestant.name] = {"s": acknowledged - started}
            broker.kill()
        zookeeper.kill()
    return figures


def memory_at_rest(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    """Measures memory one minute after the start; both brokers wait for the same minute."""
    with tempfile.TemporaryDirectory(prefix="bench-") as directory:
        started = [(contestant, *contestant.start(Path(directory))) for contestant in contestants]
        time.sleep(60 * min(scale, 1.0))
        figures = {contestant.name: {"MiB": resident_mib(broker.pid)} for contestant, broker, _ in started}
        for _, _, stop in started:
            stop()
    return figures


def idle(contestants: Sequence[Contestant], scale: float) -> dict[str, dict[str, float]]:
    figures = {}
    for contestant in contestants:
        with tempfile.TemporaryDirectory(prefix="bench-") as directory:
            broker, stop = contestant.start(Path(directory))
            try:
                figures[contestant.name] = idle_figures(broker, scale)
            finally:
                stop()
    return figures


def idle_figures(broker: Running, scale: float) -> dict[str, float]:
    """Returns CPU (percent of one core over 30 s) and the growth of the process by the connections."""
    create_topic(broker.bootstrap_servers, "idle", int(_IDLE_PARTITIONS * min(scale, 1.0)))
    wait_until_quiet(broker.pid)
    count = int(_IDLE_CONNECTIONS * min(scale, 1.0))
    allow_connections(count)
    before_mib = resident_mib(broker.pid)
    connections = [open_connection(broker.bootstrap_servers) for _ in range(count)]
    wait_until_quiet(broker.pid)
    after_mib = resident_mib(broker.pid)
    before_s, started = cpu_seconds(broker.pid), time.monotonic()
    time.sleep(30 * min(scale, 1.0))
    used, passed = cpu_seconds(broker.pid) - before_s, time.monotonic() - started
    for connection in connections:
        connection.close()
    return {
        "CPU %": 100 * used / passed,
        "KiB a connection": (after_mib - before_mib) * 1024 / count,
        "MiB in all": after_mib,
    }


def wait_until_quiet(pid: int) -> None:
    """Waits until the process is idle: two seconds with next to no CPU time, for at most a minute."""
    for _ in range(30):
        before = cpu_seconds(pid)
        time.sleep(2)
        if cpu_seconds(pid) - before <= 0.05:
            return


def allow_connections(connections: int) -> None:
    """Raise the limit of open files of this process."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, connections + 1000)), hard))


def open_connection(servers: str) -> socket.socket:
    """Returns a connection that has sent a client's first request."""
    host, _, port = servers.rpartition(":")
    connection = socket.create_connection((host, int(port)))
    exchange(connection, ApiKey.API_VERSIONS, 2, ApiVersionsRequest())
    exchange(connection, ApiKey.METADATA, 4, MetadataRequest(topics=[]))
    return connection


SCENARIOS = (
    Scenario("start of the process to the first acknowledged record", (at_most("s", 0.5),), start_up),
    Scenario("memory at rest, no topics, one minute after the start", (at_most("MiB", 60),), memory_at_rest),
    Scenario(
        "1,000 idle connections and 2,000 partitions, 30 s",
        (at_most("CPU %", 1), at_most("KiB a connection", 60)),
        idle,
    ),
)
