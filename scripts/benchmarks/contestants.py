"""The brokers of a comparison: started the same way and measured from outside through /proc."""

import os
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import Protocol

from support.compiled_package import build_compiled, missing_for_compiling
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import AS_DEFAULT, KafkaProcess, ZooKeeperProcess
from support.processes.kafka_versions import KRaftProcess, libs_of

__all__ = [
    "CONTESTANTS",
    "NEWER_KAFKA",
    "Contestant",
    "Running",
    "compiled_too",
    "cpu_seconds",
    "kafka_as_shipped",
    "lower_quartile",
    "resident_mib",
    "with_new_groups",
]

_KAFKA_JVM = (
    *("-Xms1g", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"),
    *("-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true"),
)
"""JVM options that kafka-server-start.sh and kafka-run-class.sh set besides `-Xmx1g`."""
_CPUCLOCK_SCHED = 2


class Running(Protocol):
    """A running broker, as a benchmark sees it."""

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def kill(self) -> object: ...


@dataclass
class Contestant:
    """A kind of broker: its name and a function that starts it in a folder and returns it with a
    function to stop it."""

    name: str
    start: Callable[[Path], tuple[Running, Callable[[], object]]]


def start_pybroker(directory: Path) -> tuple[Running, Callable[[], object]]:
    broker = BrokerProcess(directory / "pybroker").start()
    return broker, broker.stop


def kafka_as_shipped(
    directory: Path, zookeeper: ZooKeeperProcess, settings: Mapping[str, str] | None = None
) -> KafkaProcess:
    """Returns a Kafka process with the heap, garbage collector and JIT of its start script, instead of those used in
    tests.
    """
    return KafkaProcess(directory, zookeeper, settings, heap="1g", jvm_options=_KAFKA_JVM)


def start_kafka(directory: Path) -> tuple[Running, Callable[[], object]]:
    zookeeper = ZooKeeperProcess(directory / "zookeeper", AS_DEFAULT).start()
    kafka = kafka_as_shipped(directory / "kafka", zookeeper).start()

    def stop() -> None:
        kafka.stop()
        zookeeper.kill()
        shutil.rmtree(directory / "zookeeper")

    return kafka, stop


CONTESTANTS = (Contestant("pybroker", start_pybroker), Contestant("kafka", start_kafka))
NEWER_KAFKA = "4.2.0"
"""Kafka 3.9 has neither consumer groups of KIP-848 with ZooKeeper nor share groups."""


def with_new_groups(contestant: str, directory: Path, settings: Mapping[str, str]) -> BrokerProcess | KRaftProcess:
    """Returns a started broker with the group protocols that came after Kafka 3.9; Kafka is a later one, with KRaft."""
    own = {"group.coordinator.rebalance.protocols": "classic,consumer,share", **settings}
    if contestant == "pybroker":
        return BrokerProcess(directory, own).start()
    return KRaftProcess(directory, libs_of(NEWER_KAFKA), settings, heap="1g", jvm_options=_KAFKA_JVM).start()


@contextmanager
def compiled_too() -> Iterator[tuple[Contestant, ...]]:
    """Returns the contestants, and between them pybroker with compiled walks (setup.py) if a compiler is available."""
    if missing := missing_for_compiling():
        print(f"  skipping the compiled build: {missing}", file=sys.stderr)
        yield CONTESTANTS
        return
    with TemporaryDirectory(prefix="bench-") as directory:
        package = build_compiled(Path(directory))

        def start(directory: Path) -> tuple[Running, Callable[[], object]]:
            command = ("env", f"PYTHONPATH={package}", sys.executable, "-m", "pybroker")
            broker = BrokerProcess(directory / "pybroker", command=command).start()
            return broker, broker.stop

        pybroker, kafka = CONTESTANTS
        yield pybroker, Contestant("compiled", start), kafka


def cpu_seconds(pid: int) -> float:
    """Returns the CPU seconds (user and system) of a process and its ended children."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    children = sum(map(int, fields[13:15])) / os.sysconf("SC_CLK_TCK")
    return (
        time.clock_gettime(~pid << 3 | _CPUCLOCK_SCHED) + children
    )  # clock_getcpuclockid(3) is finer than the 10 ms ticks of /proc/…/stat


def lower_quartile(seconds: Sequence[float]) -> float:
    """Compares better than the median, because other work on the machine only adds time."""
    return quantiles(seconds, n=4)[0]


def resident_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(pid)
