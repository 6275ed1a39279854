"""A broker with its own settings: pybroker, or Apache Kafka with `--against-kafka`."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import pytest
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess

__all__ = ["StartedBroker", "broker_or_kafka", "complaints"]


class StartedBroker(Protocol):
    lines: list[str]

    @property
    def bootstrap_servers(self) -> str: ...
    @property
    def log_directory(self) -> Path: ...


@contextmanager
def broker_or_kafka(
    config: pytest.Config, directory: Path, settings: Mapping[str, str] | None = None
) -> Iterator[StartedBroker]:
    """Yields a started broker and stops it at the end."""
    if not config.getoption("--against-kafka"):
        with BrokerProcess(directory, settings) as process:
            yield process
        return
    zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
    kafka = KafkaProcess(directory / "kafka", zookeeper, settings).start()
    try:
        yield kafka
    finally:
        kafka.stop()
        zookeeper.kill()


def complaints(broker: StartedBroker) -> list[str]:
    """Returns errors and unexpected failures in its log."""
    return [line for line in broker.lines if " ERROR " in line or "Traceback" in line or " WARNING " in line]
