"""Clusters of three brokers and a ZooKeeper, as processes that can be killed, stopped and started one by one."""

import os
import shutil
import signal
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil
from pybroker.protocol.apis import ApiKey
from pybroker.protocol.codec import Message, decode
from pybroker.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from pybroker.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import AS_DEFAULT, KafkaProcess, ZooKeeperProcess
from support.time.deadline import wait_until

from benchmarks.contestants import cpu_seconds, kafka_as_shipped, resident_mib
from benchmarks.wire import exchange
from benchmarks.zookeeper_sessions import session_of, wait_for_a_ping

__all__ = ["BROKER_IDS", "CLUSTERS", "Cluster", "ClusterKind"]

BROKER_IDS = (1, 2, 3)
SESSION_TIMEOUT_MS = 6000
_METADATA_VERSION = 7
_CREATE_TOPICS_VERSION = 4
_TIMEOUT_S = 180
_SETTINGS = {
    "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
}

Broker = BrokerProcess | KafkaProcess


@dataclass(frozen=True)
class ClusterKind:
    """A kind of broker. `new_broker(directory, zookeeper, settings)` returns a broker that is not started."""

    name: str
    new_broker: Callable[[Path, ZooKeeperProcess, Mapping[str, str]], Broker]


def _pybroker(directory: Path, zookeeper: ZooKeeperProcess, settings: Mapping[str, str]) -> BrokerProcess:
    return BrokerProcess(directory, {"zookeeper.connect": zookeeper.connect, **settings})


CLUSTERS = (ClusterKind("pybroker", _pybroker), ClusterKind("kafka", kafka_as_shipped))


class Cluster:
    """A running cluster. Broker 1 starts first, so it is the first controller."""

    def __init__(self, kind: ClusterKind, directory: Path) -> None:
        self.name = kind.name
        self._directory = directory
        self._zookeeper = ZooKeeperProcess(directory / "zookeeper", AS_DEFAULT)
        self._brokers: dict[int, Broker] = {}
        self._up: set[int] = set()
        self._kind = kind

    def start(self) -> "Cluster":
        self._zookeeper.start()
        for broker_id in BROKER_IDS:
            directory = self._directory / f"{self.name}-{broker_id}"
            settings = {**_SETTINGS, "broker.id": str(broker_id)}
            self._brokers[broker_id] = self._kind.new_broker(directory, self._zookeeper, settings)
            self.start_broker(broker_id)
        wait_until(lambda: len(self.metadata(self.first_up).brokers) == len(BROKER_IDS), "all brokers are registered")
        return self

    def close(self) -> None:
        for broker_id in sorted(self._up):
            self._brokers[broker_id].kill()
        self._zookeeper.kill()
        shutil.rmtree(self._directory)

    # -- one broker

    def start_broker(self, broker_id: int) -> None:
        self._brokers[broker_id].start()
        self._up.add(broker_id)

    def kill(self, broker_id: int) -> None:
        self._up.remove(broker_id)
        self._brokers[broker_id].kill()

    def shut_down(self, broker_id: int) -> None:
        """Sends SIGTERM and waits for the end."""
        self._up.remove(broker_id)
        self._brokers[broker_id].stop()

    def pause(self, broker_id: int) -> None:
        os.kill(self._brokers[broker_id].pid, signal.SIGSTOP)

    def resume(self, broker_id: int) -> None:
        os.kill(self._brokers[broker_id].pid, signal.SIGCONT)

    def wait_for_a_ping(self, broker_id: int) -> None:
        """Waits for the next ping of the broker's idle ZooKeeper session."""
        port = self._zookeeper.port
        wait_for_a_ping(port, session_of(port, f"/brokers/ids/{broker_id}"))

    # -- all of them

    @property
    def first_up(self) -> int:
        return min(self._up)

    @property
    def up(self) -> list[int]:
        return sorted(self._up)

    @property
    def bootstrap_servers(self) -> str:
        return ",".join(broker.bootstrap_servers for broker in self._brokers.values())

    @property
    def zookeeper_connect(self) -> str:
        return self._zookeeper.connect

    def processes(self) -> list[int]:
        """Process ids of the running brokers and their children."""
        pids = []
        for broker_id in self.up:
            process = psutil.Process(self._brokers[broker_id].pid)
            pids += [process.pid, *(child.pid for child in process.children(recursive=True))]
        return pids

    def cpu_seconds(self) -> float:
        return sum(cpu_seconds(pid) for pid in self.processes())

    def memory_mib(self) -> float:
        return sum(resident_mib(pid) for pid in self.processes())

    # -- what a broker says

    def metadata(self, broker_id: int, topic: str | None = None) -> MetadataResponse:
        """Returns the metadata of this broker, for one topic or for none. Raises OSError if it does not answer."""
        topics = [] if topic is None else [MetadataRequestTopic(name=topic)]
        request = MetadataRequest(topics=topics, allow_auto_topic_creation=False)
        return decode(
            MetadataResponse, self._ask(broker_id, ApiKey.METADATA, _METADATA_VERSION, request), _METADATA_VERSION
        )

    def create_topic(self, topic: str, partitions: int) -> None:
        """Creates a topic with three replicas by a request; on a busy machine Kafka's tool times out with many
        partitions.
        """
        wanted = CreatableTopic(name=topic, num_partitions=partitions, replication_factor=len(BROKER_IDS))
        request = CreateTopicsRequest(topics=[wanted], timeout_ms=_TIMEOUT_S * 1000)
        version = _CREATE_TOPICS_VERSION
        answer = decode(
            CreateTopicsResponse, self._ask(self.controller_id(), ApiKey.CREATE_TOPICS, version, request), version
        )
        if answer.topics[0].error_code:
            raise RuntimeError(f"{topic} was not created: {answer.topics[0]}")

    def _ask(self, broker_id: int, api_key: ApiKey, version: int, request: Message) -> memoryview:
        host, _, port = self._brokers[broker_id].bootstrap_servers.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=_TIMEOUT_S) as connection:
            return exchange(connection, api_key, version, request)

    def partitions(self, broker_id: int, topic: str) -> list[MetadataResponsePartition]:
        """Returns the partitions of a topic as this broker knows them."""
        topics = self.metadata(broker_id, topic).topics
        return topics[0].partitions if topics else []

    def controller_id(self) -> int:
        return self.metadata(self.first_up).controller_id

    def wait_until_in_sync(self, topic: str, partitions: int) -> None:
        """Waits until every broker sees all replicas of the topic in sync."""

        def is_in_sync() -> bool:
            return all(
                len(known := self.partitions(broker_id, topic)) == partitions
                and all(len(each.isr_nodes) == len(each.replica_nodes) and each.leader_id >= 0 for each in known)
                for broker_id in self.up
            )

        wait_until(is_in_sync, f"all replicas of {topic} are in sync")
