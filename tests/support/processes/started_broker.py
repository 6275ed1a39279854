"""The broker of tests with real clients: pybroker, or Apache Kafka for comparison."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.time.patience import await_that

__all__ = ["Broker", "StartBroker", "started_broker"]


class Broker(Protocol):
    """A started broker, pybroker or Apache Kafka. It can be stopped, killed and restarted."""

    lines: list[str]

    @property
    def bootstrap_servers(self) -> str: ...

    @property
    def log_directory(self) -> Path: ...

    def start(self) -> object: ...

    def stop(self) -> object: ...

    def kill(self) -> object: ...


StartBroker = Callable[[Mapping[str, str]], Broker]
"""Starts a broker with these settings, under a directory of the test."""


class _RestartableKafka(KafkaProcess):
    """A Kafka that starts again after a kill: when ZooKeeper has forgotten it, because it refuses to start before."""

    def __init__(self, directory: Path, zookeeper: ZooKeeperProcess, settings: Mapping[str, str]) -> None:
        super().__init__(directory, zookeeper, settings)
        self._zookeeper = zookeeper

    def start(self) -> KafkaProcess:
        await_that(lambda: not self._zookeeper.has_node_of_session("/brokers/ids/0"), "the end of Kafka's session")
        return super().start()


@contextmanager
def started_broker(directory: Path, settings: Mapping[str, str], *, against_kafka: bool) -> Iterator[Broker]:
    if against_kafka:
        with_zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
        kafka = _RestartableKafka(directory / "kafka", with_zookeeper, settings)
        try:
            yield kafka.start()
            kafka.stop()
        finally:
            kafka.kill()
            with_zookeeper.kill()
    else:
        with BrokerProcess(directory, settings) as process:
            yield process
