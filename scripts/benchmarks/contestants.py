"""The two brokers of a comparison: started the same way, measured from outside through /proc."""

import os
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from support.broker_process import BrokerProcess
from support.kafka_process import KafkaProcess, ZooKeeperProcess

__all__ = ["CONTESTANTS", "Contestant", "Running", "cpu_seconds", "kafka_as_shipped", "resident_mib"]

_KAFKA_JVM = (
    *("-Xms1g", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20", "-XX:InitiatingHeapOccupancyPercent=35"),
    *("-XX:+ExplicitGCInvokesConcurrent", "-XX:MaxInlineLevel=15", "-Djava.awt.headless=true"),
)
"""What Kafka's own kafka-server-start.sh and kafka-run-class.sh give the JVM, beside ``-Xmx1g``."""


class Running(Protocol):
    """What a benchmark needs of a broker that is up."""

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def pid(self) -> int: ...

    def kill(self) -> object: ...


@dataclass
class Contestant:
    """A broker by name, with how to start it in a folder. Starting returns it and what stops all of it."""

    name: str
    start: Callable[[Path], tuple[Running, Callable[[], object]]]


def start_pybroker(directory: Path) -> tuple[Running, Callable[[], object]]:
    broker = BrokerProcess(directory / "pybroker").start()
    return broker, broker.stop


def kafka_as_shipped(
    directory: Path, zookeeper: ZooKeeperProcess, settings: Mapping[str, str] | None = None
) -> KafkaProcess:
    """Kafka with the heap, the collector and the compiler that its start script chooses, not those of the tests."""
    return KafkaProcess(directory, zookeeper, settings, heap="1g", jvm_options=_KAFKA_JVM)


def start_kafka(directory: Path) -> tuple[Running, Callable[[], object]]:
    zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
    kafka = kafka_as_shipped(directory / "kafka", zookeeper).start()

    def stop() -> None:
        kafka.stop()
        zookeeper.kill()
        shutil.rmtree(directory / "zookeeper")

    return kafka, stop


CONTESTANTS = (Contestant("pybroker", start_pybroker), Contestant("kafka", start_kafka))


def cpu_seconds(pid: int) -> float:
    """User and system seconds of the process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise ProcessLookupError(pid)
