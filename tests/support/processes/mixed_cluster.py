"""A cluster in which each broker is an Apache Kafka or a pybroker, and may become the other on the same directory."""

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Literal

from confluent_kafka.cimpl import NewTopic
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.elect_leaders import ElectLeadersRequest
from pybroker.protocol.messages.metadata import MetadataRequest
from support.clients.kafka_tools import TOOLS, run_tool
from support.clients.topics import admin_client
from support.clients.wire_client import WireClient
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.ports import free_port
from support.processes.zookeeper_tree import TreeNode, TreeReader
from support.time.patience import await_that

__all__ = ["Kind", "MixedCluster", "complaints_in"]

Kind = Literal["kafka", "pybroker"]
_TOPICS = "/brokers/topics"

SETTINGS = {
    "replica.fetch.backoff.ms": "200",
    "controlled.shutdown.retry.backoff.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "auto.leader.rebalance.enable": "false",
    "zookeeper.session.timeout.ms": "600000",  # so long that no session expires on a busy machine
    "log.cleaner.enable": "false",  # off, because each replica would be compacted at another time
}

KAFKAS_EXCUSES = [
    re.compile(pattern, re.DOTALL)
    for pattern in (
        # By a controller: no ISR member is up. It logs this for each partition when the last broker leaves, and when it
        # is the first to start.
        r"failed to change state for partition .*StateChangeFailedException: Failed to elect leader",
        # By a broker: a partition has no leader. Or a new controller names the leader that died.
        r"but cannot become follower since the new leader -?\d+ is unavailable",
        # By a controller that stops while it connects to a stopped broker.
        r"Controller \d+ fails to send a request to broker .*InterruptedException",
        # By a controller: a request with an old broker epoch reached the restarted broker.
        r"Received error STALE_BROKER_EPOCH in (LeaderAndIsr|UpdateMetadata) response",
        # By a leader: a producer's repeated batch after a change of leader or ISR.
        r"Error processing append operation on partition .*"
        r"(InvalidTxnState|NotEnoughReplicas|OutOfOrderSequence)Exception",
    )
]
"""Kafka's log lines that are no fault of the other brokers. The last three occur only on a slow machine."""


class MixedCluster:
    """A mixed cluster. `kinds` by broker id; `own`: settings of single brokers; their
    listeners are added to the one for clients. A broker keeps its directory and port
    as either kind.
    """

    def __init__(
        self,
        directory: Path,
        kinds: Mapping[int, Kind],
        settings: Mapping[str, str] | None = None,
        own: Mapping[int, Mapping[str, str]] | None = None,
    ) -> None:
        self.zookeeper = ZooKeeperProcess(directory / "zookeeper", {"maxSessionTimeout": "3600000"}).start()
        self._reader = TreeReader(self.zookeeper.connect)
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
        own_listeners = self._own.get(broker_id, {}).get("listeners")
        listeners = f"PLAINTEXT://127.0.0.1:{self._ports[broker_id]}"
        settings = {
            **self.settings,
            **self._own.get(broker_id, {}),
            "broker.id": str(broker_id),
            "zookeeper.connect": self.zookeeper.connect,
            "listeners": listeners if own_listeners is None else f"{listeners},{own_listeners}",
            "log.dirs": str(self.log_directory(broker_id)),
        }
        if kind == "pybroker":
            broker: KafkaProcess | BrokerProcess = BrokerProcess(directory, settings)
        else:
            broker = KafkaProcess(directory, self.zookeeper, settings)
        broker.port = self._ports[broker_id]
        return broker

    def start(self, *broker_ids: int) -> None:
        """Starts the brokers: the first one first, so that it becomes controller, the others at once."""
        for broker_id in broker_ids[:1]:
            self.brokers[broker_id].start()
        for broker_id in broker_ids[1:]:
            self.brokers[broker_id].begin()
        for broker_id in broker_ids[1:]:
            self.brokers[broker_id].wait_until_ready()
        for broker_id in broker_ids:
            self._await_controller_known(broker_id)

    def _await_controller_known(self, broker_id: int) -> None:
        """Waits until each broker knows the others and the controller. librdkafka would ask only once a minute."""
        with WireClient(f"127.0.0.1:{self._ports[broker_id]}") as client:
            await_that(
                lambda: client.ask(MetadataRequest(topics=[]), 12).controller_id >= 0,
                f"broker {broker_id} knows the controller",
            )

    def set_for_all(self, name: str, value: str) -> None:
        """Adds a setting for brokers started from now on. All must be stopped."""
        self.settings[name] = value
        for broker_id, broker in self.brokers.items():
            self.brokers[broker_id] = self._new(broker_id, "pybroker" if isinstance(broker, BrokerProcess) else "kafka")

    def replace(self, broker_id: int, kind: Kind) -> None:
        """Stops a broker cleanly and starts the other kind on its directory."""
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
        self._reader.close()
        self.zookeeper.kill()

    @property
    def servers(self) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in self._ports.values())

    def log_directory(self, broker_id: int) -> Path:
        return self._directory / f"data-{broker_id}"

    def complaints(self) -> list[str]:
        """Returns log lines that no broker should write in any situation."""
        brokers = {id(broker): broker for broker in [*self._ended, *self.brokers.values()]}
        return [line for broker in brokers.values() for line in complaints_in(broker.lines)]

    # -- state of the cluster

    def tree(self) -> dict[str, TreeNode]:
        return self._reader.below("")

    @property
    def controller(self) -> int:
        """Returns the controller's id, -1 if there is none."""
        value = self._reader.value("/controller")
        return int(value["brokerid"]) if isinstance(value, dict) else -1

    def is_registered(self, broker_id: int) -> bool:
        return self._reader.value(f"/brokers/ids/{broker_id}") is not None

    def await_in_sync(self) -> None:
        """Waits until all replicas are in sync and every partition has a leader."""
        await_that(self._is_in_sync, "all replicas are in sync")

    def _is_in_sync(self) -> bool:
        return all(
            isinstance(state, dict) and set(state["isr"]) == set(replicas) and state["leader"] in replicas
            for topic in self._reader.children(_TOPICS)
            for _, replicas, state in self._partitions(topic)
        )

    def _partitions(self, topic: str) -> list[tuple[int, list[int], object]]:
        """Returns the number, the replicas and the state of each partition."""
        value = self._reader.value(f"{_TOPICS}/{topic}")
        replicas = value["partitions"] if isinstance(value, dict) else {}
        states = self._reader.values([f"{_TOPICS}/{topic}/partitions/{number}/state" for number in replicas])
        return [(int(number), found, state) for (number, found), state in zip(replicas.items(), states, strict=True)]

    def leaders(self, topic: str) -> dict[int, int]:
        """Returns the leaders by partition."""
        return {number: state["leader"] for number, _, state in self._partitions(topic) if isinstance(state, dict)}

    def await_leaders(self, topic: str, broker_ids: set[int]) -> None:
        """Waits until exactly these brokers lead partitions of the topic."""
        await_that(lambda: set(self.leaders(topic).values()) == broker_ids, f"{topic} is led by {broker_ids}")

    def elect_preferred_leaders(self) -> None:
        """Elects the preferred leader of every partition, by the request of `kafka-leader-election`."""
        request = ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=60_000)
        with WireClient(f"127.0.0.1:{self._ports[self.controller]}") as client:
            assert client.ask(request, 2).error_code == ErrorCode.NONE

    def create_topic(self, name: str, *replicas: list[int], config: Mapping[str, str] | None = None) -> None:
        """Creates a topic with these replicas for each partition, the preferred first; waits until all are in sync."""
        topic = NewTopic(name, len(replicas), replica_assignment=list(replicas), config=dict(config or {}))
        admin = admin_client(self.servers)  # a reference, because its futures need it
        (created,) = admin.create_topics([topic]).values()
        created.result()
        self.await_in_sync()

    def tool(self, name: str, *arguments: str, expected: int = 0) -> str:
        """Returns the output of one of Kafka's `org.apache.kafka.tools`, run against the cluster."""
        return run_tool(f"{TOOLS}.{name}", "--bootstrap-server", self.servers, *arguments, expected=expected)

    # -- files of stopped brokers

    def log_of(self, broker_id: int, partition: str) -> bytes:
        """Returns all segments of `topic-0` joined, because brokers may roll at other offsets."""
        files = sorted((self.log_directory(broker_id) / partition).glob("*.log"))
        return b"".join(file.read_bytes() for file in files)

    def differing(self, broker_ids: Sequence[int]) -> list[str]:
        """Returns the partitions whose replicas' logs differ, or that lack a replica."""
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
        """Returns the replicas of all partitions in the tree, by `topic-0`."""
        return {
            f"{path.rpartition('/')[2]}-{number}": replicas
            for path, node in sorted(self._reader.below(_TOPICS).items())
            if path.rpartition("/")[0] == "/brokers/topics" and isinstance(node.value, dict)
            for number, replicas in node.value["partitions"].items()
        }


def complaints_in(lines: Sequence[str]) -> Iterator[str]:
    """Returns error lines, each with the next line, in which Kafka names the exception."""
    for line, behind in pairwise([*lines, ""]):
        told = line if behind.startswith("[") else line + behind
        is_error = " ERROR " in line and not any(excuse.search(told) for excuse in KAFKAS_EXCUSES)
        if is_error or "Traceback" in line or "FATAL" in line:
            yield told
