"""Brokers of Kafka versions beside 3.9.1: the oldest that our clients serve, and a newer one without ZooKeeper."""

import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pytest
from support.processes.java import QUICK_TO_START, ROOT, java_command
from support.processes.kafka_process import JavaProcess, KafkaProcess, ZooKeeperProcess
from support.processes.ports import free_port

__all__ = ["KRaftProcess", "libs_of", "started_kafka"]

_USUAL = "3.9.1"
_CLUSTER_ID = "rqLCxXzMRjWTp3kJ2dUUyA"
_ANYBODY = {"super.users": "User:ANONYMOUS"}
_ONE_REPLICA = {
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "group.initial.rebalance.delay.ms": "0",
    "log.retention.ms": "-1",
}


@cache
def libs_of(version: str) -> Path:
    """The folder of the jars, which are fetched once. Skips the test with the reason if that fails."""
    fetched = subprocess.run(
        ["sh", str(ROOT / "scripts" / "fetch-kafka"), version], capture_output=True, text=True, check=False
    )
    if fetched.returncode:
        pytest.skip(f"no jars of Kafka {version}: {(fetched.stderr.strip().splitlines() or ['no reason'])[-1]}")
    return Path(fetched.stdout.splitlines()[-1]).resolve()


class KRaftProcess(JavaProcess):
    """A broker that is its own controller, without ZooKeeper."""

    def __init__(
        self,
        directory: Path,
        libs: Path,
        settings: Mapping[str, str] | None = None,
        heap: str = "512m",
        jvm_options: tuple[str, ...] = QUICK_TO_START,
    ) -> None:
        super().__init__(directory, "Kafka Server started (kafka.server.KafkaRaftServer)", libs=libs)
        self._jars = libs
        self._heap = heap
        self._jvm_options = jvm_options
        port, controller = free_port(), free_port()
        self.bootstrap_servers = f"127.0.0.1:{port}"
        self._file = directory / "server.properties"
        self.log_directory = directory / "data"
        all_settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
            "controller.listener.names": "CONTROLLER",
            "log.dirs": str(self.log_directory),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            **_ANYBODY,
            **_ONE_REPLICA,
            **(settings or {}),
        }
        self._file.write_text("".join(f"{name}={value}\n" for name, value in all_settings.items()))

    def start(self) -> "KRaftProcess":
        format_storage = java_command(
            *("kafka.tools.StorageTool", "format", "--cluster-id", _CLUSTER_ID, "--config", str(self._file)),
            libs=self._jars,
        )
        subprocess.run(format_storage, check=True, capture_output=True)
        self._begin("kafka.Kafka", str(self._file), heap=self._heap, options=self._jvm_options)
        self.wait_until_ready()
        return self


@contextmanager
def started_kafka(version: str, directory: Path) -> Iterator[str]:
    """The address of a broker of this version. Skips the test if there are no jars."""
    if version.startswith("4."):
        kraft = KRaftProcess(directory, libs_of(version))
        kraft.start()
        try:
            yield kraft.bootstrap_servers
        finally:
            kraft.stop()
        return
    is_old = version.startswith(("0.", "1.", "2."))
    libs = libs_of(version) if version != _USUAL else None
    authorizer = "kafka.security.auth.SimpleAclAuthorizer" if is_old else "kafka.security.authorizer.AclAuthorizer"
    zookeeper = ZooKeeperProcess(directory / "zookeeper", libs=libs).start()
    kafka = KafkaProcess(
        directory / "kafka",
        zookeeper,
        {"authorizer.class.name": authorizer, **_ANYBODY, **_ONE_REPLICA},
        libs=libs,
    )
    try:
        yield kafka.start().bootstrap_servers
    finally:
        kafka.stop()
        zookeeper.kill()
