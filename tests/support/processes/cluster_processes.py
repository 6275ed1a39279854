"""A cluster of processes: pybrokers, Apache Kafkas for comparison on a real ZooKeeper, or both."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pybroker.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pybroker.protocol.messages.metadata import MetadataRequest
from support.clients.wire_client import WireClient
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.served_tree import ServedTree
from support.processes.zookeeper_tree import TreeReader
from support.time.patience import await_answer, await_that

__all__ = ["ClusterProcesses"]

_NOBODY = -1
_TIMEOUT_MS = 30_000


class ClusterProcesses:
    """Brokers 1, 2, …; those in `kafkas` are Apache Kafkas. The caller starts them; `close` ends them. Pybrokers alone
    need no Java: this process holds their metadata.

    `log_directories` has the paths of each broker's log directories, `directory_count` of them.
    """

    def __init__(
        self,
        directory: Path,
        broker_count: int,
        settings: Mapping[str, str],
        kafkas: Collection[int] = (),
        directory_count: int = 1,
        ours: Mapping[str, str] | None = None,
    ) -> None:
        """``ours``: settings of pybrokers only."""
        self.zookeeper: ZooKeeperProcess | ServedTree = (
            ZooKeeperProcess(directory / "zookeeper").start() if kafkas else ServedTree()
        )
        self._tree = TreeReader(self.zookeeper.connect)
        in_cluster = {**settings, "zookeeper.connect": self.zookeeper.connect}
        self.brokers: dict[int, BrokerProcess | KafkaProcess] = {}
        self.log_directories: dict[int, list[Path]] = {}
        for broker_id in range(1, broker_count + 1):
            path = directory / str(broker_id)
            self.log_directories[broker_id] = logs = [path / f"data{number or ''}" for number in range(directory_count)]
            own = {**in_cluster, "broker.id": str(broker_id), "log.dirs": ",".join(map(str, logs))}
            self.brokers[broker_id] = (
                KafkaProcess(path, self.zookeeper, own)
                if broker_id in kafkas
                else BrokerProcess(path, {**own, **(ours or {})})
            )

    @property
    def servers(self) -> str:
        """Bootstrap servers: all brokers that were ever started."""
        return ",".join(broker.bootstrap_servers for broker in self.brokers.values() if broker.port)

    def start(self, *broker_ids: int) -> None:
        for broker_id in broker_ids or self.brokers:
            self.brokers[broker_id].start()

    def await_brokers(self) -> None:
        """Waits until each broker knows all others; all must be running."""
        request = MetadataRequest(topics=[])
        running = list(self.brokers)
        for broker_id in running:
            await_answer(
                lambda at=broker_id: self.ask(at, request, 9),  # type: ignore[misc]
                lambda answer: len(answer.brokers) == len(running) and answer.controller_id != -1,
                f"broker {broker_id} knows of {running}",
            )

    def close(self) -> None:
        """Stops everything, and checks that no pybroker logged an unexpected error."""
        for broker in self.brokers.values():
            broker.kill()
        self._tree.close()
        if isinstance(self.zookeeper, ServedTree):
            self.zookeeper.close()
        else:
            self.zookeeper.kill()
        for broker in self.brokers.values():
            assert not any("Traceback" in line for line in broker.lines), "".join(broker.lines)

    # -- requests

    def ask(self, broker_id: int, request: Message, version: int) -> Any:
        with WireClient(self.brokers[broker_id].bootstrap_servers) as client:
            return client.ask(request, version)

    def create_topic(self, name: str, *assignments: Sequence[int]) -> None:
        """Creates a topic with one partition for each list of brokers."""
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[
                CreatableReplicaAssignment(partition_index=number, broker_ids=list(brokers))
                for number, brokers in enumerate(assignments)
            ],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=_TIMEOUT_MS)
        codes = ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS
        self._order(request, 5, lambda answer: answer.topics[0].error_code in codes)

    def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        """Reassigns the partition; waits until it is done."""
        wish = ReassignablePartition(partition_index=partition, replicas=list(replicas))
        request = AlterPartitionReassignmentsRequest(
            timeout_ms=_TIMEOUT_MS, topics=[ReassignableTopic(name=topic, partitions=[wish])]
        )
        self._order(
            request,
            0,
            lambda answer: not answer.error_code and not answer.responses[0].partitions[0].error_code,
        )
        await_that(lambda: self._is_at_rest(topic, partition, replicas), f"{topic}-{partition} is on {replicas}")

    def elect_preferred(self, topic: str, partition: int) -> None:
        """Elects the preferred leader; waits until it is in sync and leads."""
        self.await_in_sync(topic, partition)
        request = ElectLeadersRequest(
            election_type=0,
            topic_partitions=[TopicPartitions(topic=topic, partitions=[partition])],
            timeout_ms=_TIMEOUT_MS,
        )
        first = self.replicas(topic, partition)[0]
        self._order(request, 2, lambda _: self.leader(topic, partition) == first)

    def _order(self, request: Message, version: int, is_done: Callable[[Any], bool]) -> None:
        """Sends a request to the controller; retries, because there may be none for a moment, or another."""

        def ask() -> Any:
            try:
                return self.ask(self._controller(), request, version)
            except (KeyError, OSError, AssertionError):
                return None

        await_answer(ask, lambda answer: answer is not None and is_done(answer), f"{type(request).__name__} is done")

    def await_leader(self, topic: str, partition: int, is_it: Callable[[int], bool]) -> int:
        return await_answer(lambda: self.leader(topic, partition), is_it, f"another leads {topic}-{partition}")

    def await_in_sync(self, topic: str, partition: int) -> None:
        def are_in_sync() -> bool:
            return set(self._state(topic, partition)["isr"]) == set(self.replicas(topic, partition))

        await_that(are_in_sync, f"all replicas of {topic}-{partition} are in sync")

    # -- the tree

    def leader(self, topic: str, partition: int) -> int:
        """Returns the leader, -1 without one."""
        leader: int = self._state(topic, partition)["leader"]
        return leader

    def state(self, topic: str, partition: int) -> tuple[int, list[int]]:
        """Returns leader and ISR."""
        state = self._state(topic, partition)
        return state["leader"], state["isr"]

    def replicas(self, topic: str, partition: int) -> list[int]:
        replicas: list[int] = self._node(f"/brokers/topics/{topic}")["partitions"][str(partition)]
        return replicas

    def exists(self, topic: str) -> bool:
        return "partitions" in self._node(f"/brokers/topics/{topic}")

    def _is_at_rest(self, topic: str, partition: int, replicas: Sequence[int]) -> bool:
        node = self._node(f"/brokers/topics/{topic}")
        if node["adding_replicas"] or node["removing_replicas"] or node["partitions"][str(partition)] != list(replicas):
            return False
        state = self._state(topic, partition)
        return set(state["isr"]) == set(replicas) and state["leader"] in replicas

    def _controller(self) -> int:
        broker_id: int = self._node("/controller").get("brokerid", _NOBODY)
        return broker_id

    def _state(self, topic: str, partition: int) -> Any:
        return self._node(f"/brokers/topics/{topic}/partitions/{partition}/state")

    def _node(self, path: str) -> Any:
        """Returns the node's JSON; empty if it does not exist."""
        value = self._tree.value(path)
        return {} if value is None else value
