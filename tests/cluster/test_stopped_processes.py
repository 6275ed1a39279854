"""Tests of processes that are suspended for longer than their sessions last: real brokers and a real ZooKeeper."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from pybroker.protocol.messages.metadata import MetadataRequest
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.clients.wire_client import WireClient
from support.in_process.replicas import batch_of, offsets_and_values
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import ZooKeeperProcess
from support.processes.zookeeper_tree import client_of, read_tree
from support.time.patience import await_that

TOPIC = "orders"
RETRIABLE = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_ENOUGH_REPLICAS)
SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "min.insync.replicas": "2",
    "zookeeper.session.timeout.ms": "10000",
    "auto.leader.rebalance.enable": "false",
    "replica.fetch.wait.max.ms": "100",
    "log.retention.ms": "-1",  # the records of tests have old timestamps
}


class Processes:
    """Brokers 1, 2 and 3. Broker 1 starts first and is the controller. All have a replica of
    partition 0 of the topic."""

    def __init__(self, directory: Path) -> None:
        self.zookeeper = ZooKeeperProcess(directory / "zookeeper").start()
        self.brokers = {
            broker_id: BrokerProcess(
                directory / str(broker_id),
                {**SETTINGS, "broker.id": str(broker_id), "zookeeper.connect": self.zookeeper.connect},
            )
            for broker_id in (1, 2, 3)
        }

    def kill(self) -> None:
        for broker in self.brokers.values():
            broker.kill()
        self.zookeeper.kill()

    def ask(self, broker_id: int, request: Message, version: int) -> object:
        with WireClient(self.brokers[broker_id].bootstrap_servers) as client:
            return client.ask(request, version)

    def create_topic(self, broker_id: int, name: str, replicas: list[int]) -> ErrorCode:
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)],
        )
        answer = self.ask(broker_id, CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 7)
        return ErrorCode(answer.topics[0].error_code)  # type: ignore[attr-defined]

    def produce(self, broker_id: int, value: bytes) -> None:
        """Repeats a produce until it is acknowledged: a broker may be leader in the tree before it knows it."""
        with WireClient(self.brokers[broker_id].bootstrap_servers) as client:
            await_that(lambda: outcome(client.ask(produce_request(value), 9)) is ErrorCode.NONE, "it is acknowledged")

    def values(self, broker_id: int) -> list[bytes | None]:
        """Returns the values in the broker's log."""
        log = self.brokers[broker_id].log_directory / f"{TOPIC}-0" / "00000000000000000000.log"
        return [value for _, value in offsets_and_values(log.read_bytes())]

    def state(self) -> tuple[int, set[int]]:
        """Returns leader and ISR."""
        node = read_tree(self.zookeeper.connect).get(f"/brokers/topics/{TOPIC}/partitions/0/state")
        return (node.value["leader"], set(node.value["isr"])) if node and isinstance(node.value, dict) else (-1, set())

    def controller(self) -> int:
        """Returns the controller's id, -1 if there is none."""
        node = read_tree(self.zookeeper.connect).get("/controller")
        return int(node.value["brokerid"]) if node and isinstance(node.value, dict) else -1

    def broker_epoch(self, broker_id: int) -> int:
        """Returns the broker's epoch, -1 if it is not registered."""
        with client_of(self.zookeeper.connect) as client:
            stat = client.exists(f"/brokers/ids/{broker_id}")
        return -1 if stat is None else stat.czxid


def produce_request(value: bytes) -> ProduceRequest:
    data = PartitionProduceData(index=0, records=batch_of(value))
    return ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])])


def outcome(answer: object) -> ErrorCode:
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)  # type: ignore[attr-defined]


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    with ExitStack() as stack:
        processes = Processes(tmp_path)
        stack.callback(processes.kill)
        for broker_id in (1, 2, 3):
            processes.brokers[broker_id].start()
        yield processes


def knows_all(processes: Processes, broker_id: int) -> bool:
    answer = processes.ask(broker_id, MetadataRequest(topics=[]), 12)
    return len(answer.brokers) == 3  # type: ignore[attr-defined]


def test_controller_and_leader_suspended_past_its_session_resumes_as_follower(processes: Processes) -> None:
    """It acknowledges no request it got meanwhile, and gives no orders as controller."""
    await_that(lambda: knows_all(processes, 1), "the controller knows all brokers")
    assert processes.create_topic(1, TOPIC, [1, 2, 3]) is ErrorCode.NONE
    await_that(lambda: processes.state() == (1, {1, 2, 3}), "1 leads")
    processes.produce(1, b"before")
    before = processes.broker_epoch(1)
    with WireClient(processes.brokers[1].bootstrap_servers) as client:
        os.kill(processes.brokers[1].pid, signal.SIGSTOP)
        client.send(produce_request(b"to who is stopped"), 9)
        await_that(lambda: processes.state() in ((2, {2, 3}), (3, {2, 3})), "another leads")
        assert processes.controller() in (2, 3)
        processes.produce(processes.state()[0], b"meanwhile")
        os.kill(processes.brokers[1].pid, signal.SIGCONT)
        assert outcome(client.receive()) in RETRIABLE
    await_that(lambda: processes.broker_epoch(1) > before, "it is registered anew")
    await_that(lambda: processes.state()[0] != 1 and processes.state()[1] == {1, 2, 3}, "it follows")
    processes.produce(processes.state()[0], b"afterwards")
    assert processes.create_topic(processes.controller(), "another", [1]) is ErrorCode.NONE
    await_that(lambda: processes.values(1) == processes.values(2) == processes.values(3), "all have the same")
    # A repeated produce without idempotence may be stored twice.
    assert list(dict.fromkeys(processes.values(1))) == [b"before", b"meanwhile", b"afterwards"]
    for broker in processes.brokers.values():
        assert "Traceback" not in broker.output
