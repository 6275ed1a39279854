"""Three brokers, pybrokers or Apache Kafkas, in one kind of trouble that lasts while requests are sent to them.

Kafkas use a ZooKeeper in Java. pybrokers use a metadata tree in memory, which is up at once and costs little.
"""

import os
import signal
from collections.abc import Collection, Mapping
from dataclasses import replace
from enum import Enum
from pathlib import Path
from typing import Any

import psutil
from pybroker.protocol.apis import ApiKey
from support.clients.wire_client import WireClient
from support.in_process.replicas import batch_of
from support.load.answer_times import AnswerTime, answer_times
from support.load.request_of_each_api import (
    TIMEOUT_MS,
    join_fields,
    plain_request,
    requests_of_each_api,
    requests_without_internal_topics,
    sync_fields,
)
from support.load.scene import Epochs, Member, Scene
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.served_tree import ServedTree
from support.processes.zookeeper_tree import client_of
from support.time.patience import await_answer, await_that

__all__ = ["Trouble", "TroubledCluster"]

_SETTINGS = {
    "zookeeper.session.timeout.ms": "60000",  # so that the trouble lasts while the requests are sent
    "default.replication.factor": "3",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "auto.leader.rebalance.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.commit.timeout.ms": str(TIMEOUT_MS),
    "replica.lag.time.max.ms": "60000",
    "log.retention.ms": "-1",
}
_OF_KAFKA = {"num.io.threads": "64"}
"""Kafka blocks a thread for each request that waits for ZooKeeper, and with too few threads all others wait too."""
_OF_ZOOKEEPER = {"maxSessionTimeout": "120000"}
_CREATED_MS = 60_000
_OF_TRANSACTIONS = 1
"""The type of coordinator in FindCoordinator."""


class Trouble(Enum):
    """The states in which a cluster is asked."""

    NONE = "healthy"
    CONTROLLER_STOPPED = "controller stopped"
    CONTROLLER_KILLED = "controller killed"
    CONTROLLER_KILLED_EARLY = "controller killed, no internal topics"
    ZOOKEEPER_STOPPED = "ZooKeeper stopped"
    ZOOKEEPER_KILLED = "ZooKeeper killed"
    BROKER_STOPPED = "a broker stopped"
    TOO_FEW_BROKERS = "too few brokers"


_WITHOUT_CONTROLLER = (Trouble.CONTROLLER_STOPPED, Trouble.CONTROLLER_KILLED, Trouble.CONTROLLER_KILLED_EARLY)


class TroubledCluster:
    """Brokers 1, 2 and 3; broker 1 is the controller. Broker 3 never runs when there are too few brokers."""

    def __init__(self, directory: Path, trouble: Trouble, *, is_kafka: bool) -> None:
        self._trouble = trouble
        self._broker_ids = (1, 2) if trouble is Trouble.TOO_FEW_BROKERS else (1, 2, 3)
        self._java = ZooKeeperProcess(directory / "zookeeper", _OF_ZOOKEEPER).start() if is_kafka else None
        self._zookeeper = self._java or ServedTree()
        self._brokers: dict[int, BrokerProcess | KafkaProcess] = {}
        for broker_id in self._broker_ids:
            path = directory / str(broker_id)
            settings = {
                **_SETTINGS,
                "broker.id": str(broker_id),
                "zookeeper.connect": self._zookeeper.connect,
                "log.dirs": f"{path / 'data'},{path / 'second'}",
            }
            self._brokers[broker_id] = (
                KafkaProcess(path, self._java, settings | _OF_KAFKA)
                if self._java is not None
                else BrokerProcess(path, settings)
            )
        self._stopped: list[int] = []

    def start(self) -> "TroubledCluster":
        """Start the brokers, and create the topics that `requests_of_each_api` needs."""
        self._brokers[1].start()
        for broker_id in self._broker_ids[1:]:
            self._brokers[broker_id].begin()
        for broker_id in self._broker_ids[1:]:
            self._brokers[broker_id].wait_until_ready()
        for broker_id in self._broker_ids:
            await_answer(
                lambda at=broker_id: self._ask(at, ApiKey.METADATA, 9, topics=[]),  # type: ignore[misc]
                lambda answer: len(answer.brokers) == len(self._broker_ids) and answer.controller_id == 1,
                f"broker {broker_id} knows all brokers",
            )
        self._create_topics()
        return self

    def close(self) -> None:
        for broker in self._brokers.values():
            broker.kill()
        if isinstance(self._zookeeper, ServedTree):
            self._zookeeper.close()
        else:
            self._zookeeper.kill()

    def times_without_internal_topics(self, unwatched: Collection[str] = ()) -> list[AnswerTime]:
        """Times in the trouble, before a group was ever used. Empty for a killed controller with internal topics: the
        trouble does not end then."""
        if self._trouble is Trouble.CONTROLLER_KILLED:
            return []
        scene = self._scene()
        self._begin_trouble()
        times = answer_times(requests_without_internal_topics(scene), self._addresses(), unwatched)
        self._heal()
        return times

    def times_of_each_api(self, unwatched: Collection[str] = ()) -> list[AnswerTime]:
        """Times in the trouble, with internal topics unless the trouble prevents their creation."""
        asked = requests_of_each_api(self._scene_with_groups())
        served = self.served_apis()
        if self._trouble is not Trouble.CONTROLLER_KILLED_EARLY:  # it has begun
            self._begin_trouble()
        return answer_times([each for each in asked if each.api in served], self._addresses(), unwatched)

    def served_apis(self) -> set[int]:
        """The APIs that broker 2 says it serves."""
        return {each.api_key for each in self._ask(2, ApiKey.API_VERSIONS, 0).api_keys}

    def tracebacks(self) -> list[str]:
        return [line for broker in self._brokers.values() for line in broker.lines if "Traceback" in line]

    # -- preparations

    def _ask(self, broker_id: int, api: ApiKey, version: int, **fields: Any) -> Any:
        with WireClient(self._brokers[broker_id].bootstrap_servers) as client:
            return client.ask(plain_request(api, **fields), version)

    def _create_topics(self) -> None:
        """Topics with a replica on each running broker, led by broker 2."""
        replicas = [2, *(broker_id for broker_id in self._broker_ids if broker_id != 2)]
        topics = [
            {
                "name": name,
                "num_partitions": -1,
                "replication_factor": -1,
                "assignments": [{"partition_index": 0, "broker_ids": replicas}],
            }
            for name in Scene.TOPICS
        ]
        alone = {"partition_index": 0, "broker_ids": [2]}
        topics.append({"name": Scene.SINGLE, "num_partitions": -1, "replication_factor": -1, "assignments": [alone]})
        answer = self._ask(1, ApiKey.CREATE_TOPICS, 5, topics=topics, timeout_ms=_CREATED_MS)
        assert not any(topic.error_code for topic in answer.topics), answer
        for name in ("records", "trimmed"):
            await_that(lambda name=name: self._is_produced(name), f"a record is in {name}")  # type: ignore[misc]
        self._prefer_broker_1("led", [1, *(broker_id for broker_id in replicas if broker_id != 1)])

    def _prefer_broker_1(self, topic: str, replicas: list[int]) -> None:
        """Only the order of the replicas changes, so broker 2 still leads."""
        partition = {"partition_index": 0, "replicas": replicas}
        topics = [{"name": topic, "partitions": [partition]}]
        answer = self._ask(1, ApiKey.ALTER_PARTITION_REASSIGNMENTS, 0, topics=topics, timeout_ms=_CREATED_MS)
        assert not answer.responses[0].partitions[0].error_code, answer
        for broker_id in self._broker_ids:
            found = await_answer(
                lambda at=broker_id: self._ask(at, ApiKey.METADATA, 9, topics=[{"name": topic}]),  # type: ignore[misc]
                lambda answer: [each.replica_nodes[0] for each in answer.topics[0].partitions] == [1],
                f"broker {broker_id} knows the order of the replicas",
            )
            assert found.topics[0].partitions[0].leader_id == 2

    def _is_produced(self, topic: str) -> bool:
        data = [{"name": topic, "partition_data": [{"index": 0, "records": batch_of(b"value")}]}]
        answer = self._ask(2, ApiKey.PRODUCE, 7, acks=-1, timeout_ms=_CREATED_MS, topic_data=data)
        return not answer.responses[0].partition_responses[0].error_code

    def _scene_with_groups(self) -> Scene:
        """Broker 2 coordinates the groups, and their commits are replicated. Without internal topics they are empty."""
        scene = self._scene()
        if self._trouble in (Trouble.TOO_FEW_BROKERS, Trouble.CONTROLLER_KILLED_EARLY):
            return scene
        names = (f"group-{number}" for number in range(10_000))
        of_broker_2 = (name for name in names if self._coordinator_of(name) == 2)
        group = next(of_broker_2)
        await_that(lambda: self._is_committed(group), f"{group} has committed an offset")
        joined, stable = self._join(next(of_broker_2)), self._join(next(of_broker_2))
        answer = self._ask(2, ApiKey.SYNC_GROUP, 4, **sync_fields(stable))
        assert not answer.error_code, answer
        if self._trouble is Trouble.BROKER_STOPPED:
            id_ = next(name for name in names if self._coordinator_of(name, _OF_TRANSACTIONS) == 2)
            scene = replace(scene, transactional_id=id_)
        return replace(scene, group=group, joined=joined, stable=stable)

    def _join(self, group: str) -> Member:
        answer = await_answer(
            lambda: self._ask(2, ApiKey.JOIN_GROUP, 3, **join_fields(group)),
            lambda answer: not answer.error_code,
            f"a member has joined {group}",
        )
        return Member(group, answer.member_id, answer.generation_id)

    def _is_committed(self, group: str) -> bool:
        partition = {"partition_index": 0, "committed_offset": 0, "committed_metadata": ""}
        topics = [{"name": "records", "partitions": [partition]}]
        answer = self._ask(
            2, ApiKey.OFFSET_COMMIT, 7, group_id=group, topics=topics, member_id="", generation_id_or_member_epoch=-1
        )
        return not answer.topics[0].partitions[0].error_code

    def _coordinator_of(self, key: str, key_type: int = 0) -> int:
        answer = await_answer(
            lambda: self._ask(2, ApiKey.FIND_COORDINATOR, 2, key=key, key_type=key_type),
            lambda answer: not answer.error_code,
            f"{key} has a coordinator",
        )
        node_id: int = answer.node_id
        return node_id

    def _scene(self) -> Scene:
        controller = 2 if self._trouble in _WITHOUT_CONTROLLER else 1
        with client_of(self._zookeeper.connect) as client:
            of_controller = int(client.get("/controller_epoch")[0])
            nodes = {broker_id: client.exists(f"/brokers/ids/{broker_id}") for broker_id in self._broker_ids}
        of_brokers = {broker_id: node.czxid for broker_id, node in nodes.items() if node is not None}
        found = self._ask(2, ApiKey.DESCRIBE_LOG_DIRS, 4, topics=[{"topic": "described", "partitions": [0]}]).results
        used, second = (each.log_dir for each in sorted(found, key=lambda each: not each.topics))
        return Scene(controller, 2, "group", (used, second), Epochs(of_controller, of_brokers), self._addresses())

    def _addresses(self) -> Mapping[int, tuple[str, int]]:
        return {broker_id: ("127.0.0.1", broker.port) for broker_id, broker in self._brokers.items()}

    # -- troubles

    def _begin_trouble(self) -> None:
        match self._trouble:
            case Trouble.CONTROLLER_STOPPED:
                self._stop(self._brokers[1].pid)
            case Trouble.CONTROLLER_KILLED | Trouble.CONTROLLER_KILLED_EARLY:
                self._kill_with_its_guard(self._brokers[1])
            case Trouble.BROKER_STOPPED:
                self._stop(self._brokers[3].pid)
            case Trouble.ZOOKEEPER_STOPPED:
                if isinstance(self._zookeeper, ServedTree):
                    self._zookeeper.pause()
                else:
                    self._stop(self._zookeeper.pid)
            case Trouble.ZOOKEEPER_KILLED:
                self._zookeeper.kill()
            case Trouble.NONE | Trouble.TOO_FEW_BROKERS:
                pass

    def _stop(self, pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        self._stopped.append(pid)

    def _kill_with_its_guard(self, broker: BrokerProcess | KafkaProcess) -> None:
        """Kill the broker and its child processes, so that its session lasts, as when its machine is lost."""
        os.kill(broker.pid, signal.SIGSTOP)
        for child in psutil.Process(broker.pid).children(recursive=True):
            child.kill()
        broker.kill()

    def _heal(self) -> None:
        for pid in self._stopped:
            os.kill(pid, signal.SIGCONT)
        self._stopped.clear()
        if self._trouble is Trouble.ZOOKEEPER_KILLED:
            self._zookeeper.start()
        if self._trouble is Trouble.ZOOKEEPER_STOPPED and isinstance(self._zookeeper, ServedTree):
            self._zookeeper.resume()
