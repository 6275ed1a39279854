"""One cluster in which each broker is an Apache Kafka or a pybroker, and may become the other on the same directory."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

from confluent_kafka.cimpl import NewTopic
from pybroker.protocol.messages.metadata import MetadataRequest
from support.clients.kafka_tools import TOOLS, run_tool
from support.clients.topics import admin_client
from support.clients.wire_client import WireClient
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.ports import free_port
from support.processes.zookeeper_tree import TreeNode, read_tree
from support.time.patience import await_that

__all__ = ["Kind", "MixedCluster", "complaints_in"]

Kind = Literal["kafka", "pybroker"]

SETTINGS = {
    "replica.fetch.backoff.ms": "200",
    "controlled.shutdown.retry.backoff.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "auto.leader.rebalance.enable": "false",
    "zookeeper.session.timeout.ms": "600000",  # none ends because the machine is busy
    "log.cleaner.enable": "false",  # replicas are compacted each in its own time
}

KAFKAS_EXCUSES = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        # Of a controller: nobody in the ISR is up. It says so of each partition to who leaves last, and as the first
        # that is there.
        r"failed to change state for partition .*StateChangeFailedException: Failed to elect leader",
        # Of a broker: nobody leads. Or a controller that has just been elected tells of who did when it died.
        r"but cannot become follower since the new leader -?\d+ is unavailable",
        # Of a controller: it ends while it tries to reach somebody who is gone.
        r"Controller \d+ fails to send a request to broker .*InterruptedException",
        # Of a controller: an order for what a broker was has reached what it is since it was started anew.
        r"Received error STALE_BROKER_EPOCH in (LeaderAndIsr|UpdateMetadata) response",
        # Of a leader: what a producer has sent, and sends again, when leaders or the ISR have changed.
        r"Error processing append operation on partition .*"
        r"(InvalidTxnState|NotEnoughReplicas|OutOfOrderSequence)Exception",
    )
]
"""What a Kafka calls an error where nothing is wrong with what the others sent it. The last three are for a slow
machine: one process has to be late just then."""


class MixedCluster:
    """``kinds`` by broker id; ``own``: settings of one broker alone. A broker keeps its directory and its port whatever
    it is."""

    def __init__(
        self,
        directory: Path,
        kinds: Mapping[int, Kind],
        settings: Mapping[str, str] | None = None,
        own: Mapping[int, Mapping[str, str]] | None = None,
    ) -> None:
        self.zookeeper = ZooKeeperProcess(directory / "zookeeper", {"maxSessionTimeout": "3600000"}).start()
        self.brokers: dict[int, KafkaProcess | BrokerProcess] = {}
        self.settings = {**SETTINGS, **(settings or {})}
        self._own = dict(own or {})
        self._directory = directory
        self._ports = {broker_id: free_port() for broker_id in kinds}
        self._ended: list[KafkaProcess | BrokerProcess] = []
        for broker_id, kind in kinds.items():
            self.brokers[broker_id] = self._new(broker_id, kind)

    # -- brokers

    def _new(self, broker_id: int, kind: Kind) -> KafkaProcess | BrokerProcess:
        directory = self._directory / f"{kind}-{broker_id}"
        settings = {
            **self.settings,
            **self._own.get(broker_id, {}),
            "broker.id": str(broker_id),
            "zookeeper.connect": self.zookeeper.connect,
            "listeners": f"PLAINTEXT://127.0.0.1:{self._ports[broker_id]}",
            "log.dirs": str(self.log_directory(broker_id)),
        }
        if kind == "pybroker":
            broker: KafkaProcess | BrokerProcess = BrokerProcess(directory, settings)
        else:
            broker = KafkaProcess(directory, self.zookeeper, settings)
        broker.port = self._ports[broker_id]
        return broker

    def start(self, *broker_ids: int) -> None:
        """The first of them first, for it may become the controller; the others at once."""
        for broker_id in broker_ids[:1]:
            self.brokers[broker_id].start()
        for broker_id in broker_ids[1:]:
            self.brokers[broker_id].begin()
        for broker_id in broker_ids[1:]:
            self.brokers[broker_id].wait_until_ready()
        for broker_id in broker_ids:
            self._await_controller_known(broker_id)

    def _await_controller_known(self, broker_id: int) -> None:
        """A broker that is just up may not have heard of the others yet. librdkafka asks once, and then for a minute
        not again."""
        with WireClient(f"127.0.0.1:{self._ports[broker_id]}") as client:
            await_that(
                lambda: client.ask(MetadataRequest(topics=[]), 12).controller_id >= 0,
                f"broker {broker_id} knows the controller",
            )

    def set_for_all(self, name: str, value: str) -> None:
        """A setting for brokers that are started from now on. All are stopped."""
        self.settings[name] = value
        for broker_id, broker in self.brokers.items():
            self.brokers[broker_id] = self._new(broker_id, "pybroker" if isinstance(broker, BrokerProcess) else "kafka")

    def replace(self, broker_id: int, kind: Kind) -> None:
        """A clean stop of the one, a start of the other on what it leaves."""
        self.stop(broker_id)
        self.brokers[broker_id] = self._new(broker_id, kind)
        self.brokers[broker_id].start()

    def stop(self, broker_id: int) -> None:
        broker = self.brokers[broker_id]
        broker.stop()
        self._ended.append(broker)

    def restart(self, broker_id: int) -> None:
        self.brokers[broker_id].stop()
        self.brokers[broker_id].start()

    def kill(self, broker_id: int) -> None:
        self.brokers[broker_id].kill()

    def close(self) -> None:
        for broker in self.brokers.values():
            broker.kill()
        self.zookeeper.kill()

    @property
    def servers(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    def log_directory(self, broker_id: int) -> Path:
        return self._directory / f"data-{broker_id}"

    def complaints(self) -> list[str]:
        """Lines that no broker should write, whatever it meets."""
        brokers = {id(broker): broker for broker in [*self._ended, *self.brokers.values()]}
        return [line for broker in brokers.values() for line in complaints_in(broker.lines)]

    # -- what the cluster says of itself

    def tree(self) -> dict[str, TreeNode]:
        return read_tree(self.zookeeper.connect)

    @property
    def controller(self) -> int:
        """−1: none just now."""
        node = self.tree().get("/controller")
        return int(node.value["brokerid"]) if node is not None and isinstance(node.value, dict) else -1

    def is_registered(self, broker_id: int) -> bool:
        return f"/brokers/ids/{broker_id}" in self.tree()

    def await_in_sync(self) -> None:
        """Until all replicas of all partitions are, and every partition has a leader."""
        await_that(self._is_in_sync, "all replicas are in sync")

    def _is_in_sync(self) -> bool:
        tree = self.tree()
        for path, node in tree.items():
            parts = path.split("/")
            if parts[:3] != ["", "brokers", "topics"] or len(parts) != 4:
                continue
            assert isinstance(node.value, dict)
            for number, replicas in node.value["partitions"].items():
                state = tree.get(f"{path}/partitions/{number}/state")
                if state is None or not isinstance(state.value, dict):
                    return False
                if set(state.value["isr"]) != set(replicas) or state.value["leader"] not in replicas:
                    return False
        return True

    def leaders(self, topic: str) -> dict[int, int]:
        """By partition."""
        prefix, suffix = f"/brokers/topics/{topic}/partitions/", "/state"
        return {
            int(path.removeprefix(prefix).removesuffix(suffix)): node.value["leader"]
            for path, node in self.tree().items()
            if path.startswith(prefix) and path.endswith(suffix) and isinstance(node.value, dict)
        }

    def await_leaders(self, topic: str, broker_ids: set[int]) -> None:
        """Until each of these, and no other, leads some partition of the topic."""
        await_that(lambda: set(self.leaders(topic).values()) == broker_ids, f"{topic} is led by {broker_ids}")

    def create_topic(self, name: str, *replicas: list[int], config: Mapping[str, str] | None = None) -> None:
        """With these replicas for each partition; returns when all are in sync. The first of them is the preferred."""
        topic = NewTopic(name, len(replicas), replica_assignment=list(replicas), config=dict(config or {}))
        admin = admin_client(self.servers)  # as long as it is there, its futures come
        (created,) = admin.create_topics([topic]).values()
        created.result()
        self.await_in_sync()

    def tool(self, name: str, *arguments: str, expected: int = 0) -> str:
        """What one of Kafka's ``org.apache.kafka.tools`` prints, run against the cluster."""
        return run_tool(f"{TOOLS}.{name}", "--bootstrap-server", self.servers, *arguments, expected=expected)

    # -- what is on the disks, of brokers that are stopped

    def log_of(self, broker_id: int, partition: str) -> bytes:
        """All segments of ``topic-0``, one behind the other: where each begins is every broker's own affair."""
        files = sorted((self.log_directory(broker_id) / partition).glob("*.log"))
        return b"".join(file.read_bytes() for file in files)

    def differing(self, broker_ids: Sequence[int]) -> list[str]:
        """The partitions of which the replicas' logs are not the same bytes, or of which one is missing."""
        found = []
        for partition, replicas in self._replicas().items():
            due = [broker_id for broker_id in replicas if broker_id in broker_ids]
            logs = {self.log_of(each, partition) if self._has(each, partition) else None for each in due}
            if logs == {None} or len(logs) > 1:
                found.append(partition)
        return found

    def _has(self, broker_id: int, partition: str) -> bool:
        return (self.log_directory(broker_id) / partition).is_dir()

    def _replicas(self) -> dict[str, list[int]]:
        """Of all partitions that the tree knows: ``topic-0``."""
        return {
            f"{path.rpartition('/')[2]}-{number}": replicas
            for path, node in sorted(self.tree().items())
            if path.rpartition("/")[0] == "/brokers/topics" and isinstance(node.value, dict)
            for number, replicas in node.value["partitions"].items()
        }


def complaints_in(lines: Sequence[str]) -> Iterator[str]:
    """Each with the line behind it, where a Kafka names the exception."""
    for line, behind in pairwise([*lines, ""]):
        told = line if behind.startswith("[") else line + behind
        is_error = " ERROR " in line and not any(excuse.search(told) for excuse in KAFKAS_EXCUSES)
        if is_error or "Traceback" in line or "FATAL" in line:
            yield told
