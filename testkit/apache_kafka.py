"""Apache Kafka in ZooKeeper mode as processes of this machine, for ``--kafka=apache``."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from ..broker.library.cluster.members import JavaMember, ZooKeeperMember
from ..broker.library.cluster.ports import HOST
from ..broker.library.cluster.zookeeper_jars import find_jars, find_java
from ..broker.start_error import StartError

__all__ = ["ApacheKafka", "find_kafka"]

_LOG4J = """log4j.rootLogger=INFO, stdout
log4j.appender.stdout=org.apache.log4j.ConsoleAppender
log4j.appender.stdout.layout=org.apache.log4j.PatternLayout
log4j.appender.stdout.layout.ConversionPattern=[%d] %p %m (%c)%n
"""
_READY = b"started (kafka.server.KafkaServer)"


def find_kafka() -> tuple[str, Path]:
    """Return Java and the folder with Kafka's jars. Raises pytest.UsageError with what is missing."""
    given = os.environ.get("PYBROKER_KAFKA_LIBS")
    try:
        java, jars = find_java(), find_jars(Path(given) if given else None)
    except StartError as error:
        raise pytest.UsageError(f"--kafka=apache: {error}") from None
    if not any(jars.glob("kafka_2.1*.jar")):
        raise pytest.UsageError(
            f"--kafka=apache: {jars} has no jar of Kafka's broker: set PYBROKER_KAFKA_LIBS to the folder libs of Apache"
            " Kafka 3.x"
        )
    return java, jars


class ApacheKafka:
    """A ZooKeeper and a broker with these settings. Raises StartError."""

    def __init__(self, directory: Path, settings: Mapping[str, str]) -> None:
        java, jars = find_kafka()
        self._zookeeper = ZooKeeperMember(directory / "zookeeper", java, jars, kept=False)
        self._zookeeper.begin()
        try:
            self._zookeeper.wait_until_ready()
            self._broker = _KafkaMember(directory / "kafka", java, jars, self._zookeeper.port, settings)
            self._broker.begin()
            self._broker.wait_until_ready()
        except BaseException:
            self.close()
            raise

    @property
    def bootstrap_servers(self) -> str:
        """``host:port`` for clients."""
        return f"{HOST}:{self._broker.port}"

    def close(self) -> None:
        """Kill both."""
        for member in (getattr(self, "_broker", None), self._zookeeper):
            if member is not None:
                member.close()


class _KafkaMember(JavaMember):
    """Kafka's broker, with data that nobody needs afterwards."""

    def __init__(
        self, directory: Path, java: str, jars: Path, zookeeper_port: int, settings: Mapping[str, str]
    ) -> None:
        super().__init__("Apache Kafka", directory, java, jars)
        self._zookeeper_port = zookeeper_port
        self._settings = settings

    def _command(self) -> Sequence[str]:
        settings = {
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "group.initial.rebalance.delay.ms": "0",
            **self._settings,
            "broker.id": "0",
            "listeners": f"PLAINTEXT://{HOST}:{self.port}",
            "zookeeper.connect": f"{HOST}:{self._zookeeper_port}",
            "log.dirs": str(self.directory / "data"),
        }
        file, log4j = self.directory / "server.properties", self.directory / "log4j.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        log4j.write_text(_LOG4J)
        return self._java_command("kafka.Kafka", file, "-Xmx512m", f"-Dlog4j.configuration=file:{log4j}")

    def _is_ready(self) -> bool:
        return _READY in self._output()
