"""Compares the responses of a cluster of Apache Kafka 3.9.1 and one of pybroker through the same events.

They concern metadata, leader hints, and error codes of the wrong broker or with missing followers.

Each has two brokers on one ZooKeeper; broker 1 starts first and is the controller. Topic "both" has partitions on [1,
2] and [2, 1] and needs all replicas in sync; topic "one" has partitions on [1] and [2].
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from interop.side_by_side.allowed_differences import Allowed, is_allowed_everywhere
from interop.side_by_side.conversation import Conversation, Step
from interop.side_by_side.differences import differences
from interop.side_by_side.plain_form import Json
from interop.side_by_side.requests import (
    assigned,
    batch,
    create,
    epoch_end,
    fetch,
    fetch_partition,
    list_offsets,
    metadata,
    produce,
    topic_id,
)
from pybroker.protocol.codec import Message
from pybroker.protocol.messages.create_topics import CreatableTopicConfig
from pybroker.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from pybroker.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from pybroker.protocol.messages.metadata import MetadataRequest
from support.processes.broker_process import BrokerProcess
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.zookeeper_tree import client_of
from support.time.patience import await_answer

BOTH, ONE = "both", "one"
ASSIGNMENTS = {BOTH: {0: [1, 2], 1: [2, 1]}, ONE: {0: [1], 1: [2]}}
PARTITIONS = [(topic, index) for topic, assignment in ASSIGNMENTS.items() for index in assignment]
UNKNOWN_PARTITION = 9
EPOCHS = (-1, 0, 1, 50)
ONE_EPOCH_LESS = Allowed("1 has crashed: *eaderEpoch", "a new controller elects in one write", 3, 2)
SESSION_TIMEOUT_MS = 600_000
"""Long, so that no session expires on a busy machine; nodes of a killed Kafka's session are deleted explicitly."""
SETTINGS = {
    "offsets.topic.replication.factor": "1",
    "group.initial.rebalance.delay.ms": "0",
    "auto.leader.rebalance.enable": "false",
    "controlled.shutdown.retry.backoff.ms": "100",
    "log.retention.ms": "-1",  # the records have old timestamps
    "replica.fetch.wait.max.ms": "50",
    "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
}
Broker = KafkaProcess | BrokerProcess


class Cluster:
    """A cluster. `steps`: all responses so far, without ports and ids. `tree`: its `zookeeper.connect`."""

    def __init__(self, brokers: dict[int, Broker], tree: str) -> None:
        self.brokers = brokers
        self._tree = tree
        self.steps: list[Step] = []
        self._talks: dict[int, Conversation] = {}

    def start(self, broker_id: int) -> None:
        self.brokers[broker_id].start()
        self._talks[broker_id] = Conversation(("127.0.0.1", self.brokers[broker_id].port), str(broker_id))

    def stop(self, broker_id: int) -> None:
        self._talks.pop(broker_id).close()
        self.brokers[broker_id].stop()

    def kill_controller(self, broker_id: int) -> None:
        """Kills the controller. A pybroker's guard ends its session, so the next controller may be elected at once;
        other sessions must stay.
        """
        self._talks.pop(broker_id).close()
        self.brokers[broker_id].kill()
        registration = f"/brokers/ids/{broker_id}"
        with client_of(self._tree) as client:
            if isinstance(self.brokers[broker_id], KafkaProcess):
                for path in (registration, "/controller"):
                    client.delete(path)
            await_answer(lambda: client.exists(registration), lambda found: found is None, "its session has ended")

    def ask(self, broker_id: int, request: Message, version: int, note: str) -> Any:
        talk = self._talks[broker_id]
        answer = talk.ask(request, version)
        self._note(broker_id, talk, note)
        return answer

    def ask_unanswered(self, broker_id: int, request: Message, version: int, note: str) -> None:
        talk = self._talks[broker_id]
        talk.send_unanswered(request, version)
        self._note(broker_id, talk, note)

    def until(self, broker_id: int, is_so: Callable[[Any], bool], what: str) -> Any:
        """Waits until the broker has this state of the topics; records nothing."""
        talk = self._talks[broker_id]
        return await_answer(lambda: talk.unrecorded(metadata(BOTH, ONE), 12), is_so, what)

    def topic_id(self, broker_id: int, topic: str) -> Any:
        return topic_id(self._talks[broker_id], topic)

    def settle(self) -> None:
        """Waits until every ISR member knows that its whole log is committed; records nothing."""
        for leader_id, talk in self._talks.items():
            for partition in talk.unrecorded(metadata(BOTH), 12).topics[0].partitions:
                if partition.leader_id != leader_id:
                    continue
                index = partition.partition_index
                talk.unrecorded(produce(BOTH, batch(), partition=index), 9)
                end = talk.unrecorded(list_offsets(BOTH, -1, partition=index), 7).topics[0].partitions[0].offset
                for follower_id in set(partition.isr_nodes) - {leader_id}:
                    self._await_high_watermark(follower_id, index, end)

    def _await_high_watermark(self, broker_id: int, index: int, end: int) -> None:
        look = fetch(BOTH, fetch_partition(index, 1))

        def high_watermark() -> int:
            answer = self._talks[broker_id].unrecorded(look, 12)
            return int(answer.responses[0].partitions[0].high_watermark)

        await_answer(high_watermark, lambda found: found == end, f"the high watermark of {index} at {broker_id}")

    def _note(self, broker_id: int, talk: Conversation, note: str) -> None:
        step = talk.steps[-1]
        api = step.name.partition(" ")[2]
        self.steps.append(Step(f"{note}: broker {broker_id}, {api}", self._without_ports(step.answer)))

    def _without_ports(self, value: Json) -> Json:
        ports = {broker.port: f"<port of {broker_id}>" for broker_id, broker in self.brokers.items()}
        if isinstance(value, dict):
            return {name: self._port(ports, name, _in_order(name, item)) for name, item in value.items()}
        if isinstance(value, list):
            return [self._without_ports(item) for item in value]
        return value

    def _port(self, ports: dict[int, str], name: str, value: Json) -> Json:
        if name == "host":
            return "<host>"
        return ports.get(value, value) if name == "port" and isinstance(value, int) else self._without_ports(value)


def _in_order(name: str, value: Json) -> Json:
    """Sorts lists that are sets."""
    if name == "brokers":
        return sorted(value, key=lambda broker: int(broker["nodeId"]))
    return sorted(value) if name == "isrNodes" else value


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[tuple[Cluster, Cluster]]:
    with ExitStack() as stack:
        zookeeper = ZooKeeperProcess(tmp_path / "zookeeper", {"maxSessionTimeout": str(SESSION_TIMEOUT_MS)}).start()
        stack.callback(zookeeper.kill)
        of_kafka: dict[int, Broker] = {}
        of_pybroker: dict[int, Broker] = {}
        for broker_id in (1, 2):
            settings = {**SETTINGS, "broker.id": str(broker_id)}
            kafka = {**settings, "zookeeper.connect": f"{zookeeper.connect}/kafka"}
            pybroker = {**settings, "zookeeper.connect": f"{zookeeper.connect}/pybroker"}
            of_kafka[broker_id] = KafkaProcess(tmp_path / f"kafka-{broker_id}", zookeeper, kafka)
            of_pybroker[broker_id] = BrokerProcess(tmp_path / f"pybroker-{broker_id}", pybroker)
            stack.callback(of_kafka[broker_id].kill)
            stack.callback(of_pybroker[broker_id].kill)
        yield Cluster(of_kafka, kafka["zookeeper.connect"]), Cluster(of_pybroker, pybroker["zookeeper.connect"])


def states(answer: Any) -> list[tuple[int, list[int]]]:
    """Returns leader and ISR of each partition, "both" first; none for an unknown topic."""
    found = []
    for topic in sorted(answer.topics, key=lambda topic: topic.name):
        partitions = sorted(topic.partitions, key=lambda partition: partition.partition_index)
        found += [(partition.leader_id, sorted(partition.isr_nodes)) for partition in partitions]
    return found


def live(cluster: Cluster) -> None:
    cluster.start(1)
    cluster.start(2)
    cluster.until(1, lambda answer: len(answer.brokers) == 2, "the controller knows both")
    both, one = (assigned(name, assignment) for name, assignment in ASSIGNMENTS.items())
    both.configs = [CreatableTopicConfig(name="min.insync.replicas", value="2")]
    answer = cluster.ask(1, create(both, one), 7, "created")
    assert not any(topic.error_code for topic in answer.topics), answer
    for broker_id in (1, 2):
        is_known = lambda answer: states(answer) == [(1, [1, 2]), (2, [1, 2]), (1, [1]), (2, [2])]  # noqa: E731
        cluster.until(broker_id, is_known, "it knows the topic")
    for topic, index in PARTITIONS:
        cluster.ask(ASSIGNMENTS[topic][index][0], produce(topic, batch(2), partition=index), 10, "first records")
    ask_everything(cluster, 1, "both are up")
    ask_everything(cluster, 2, "both are up")

    cluster.settle()
    cluster.stop(2)
    cluster.until(1, lambda answer: states(answer) == [(1, [1]), (1, [1]), (1, [1]), (-1, [2])], "1 leads what it can")
    ask_everything(cluster, 1, "2 is down")

    cluster.start(2)
    for broker_id in (1, 2):
        is_back = lambda answer: states(answer) == [(1, [1, 2]), (1, [1, 2]), (1, [1]), (2, [2])]  # noqa: E731
        cluster.until(broker_id, is_back, "2 is in sync")
    ask_everything(cluster, 2, "2 is back")
    wishes = [TopicPartitions(topic=topic, partitions=[0, 1]) for topic in ASSIGNMENTS]
    cluster.ask(1, ElectLeadersRequest(election_type=0, topic_partitions=wishes, timeout_ms=30_000), 2, "preferred")
    for broker_id in (1, 2):
        is_preferred = lambda answer: [leader for leader, _ in states(answer)] == [1, 2, 1, 2]  # noqa: E731
        cluster.until(broker_id, is_preferred, "who is preferred leads")
    ask_everything(cluster, 1, "preferred leaders lead")

    cluster.settle()
    cluster.kill_controller(1)
    is_alone = lambda answer: (  # noqa: E731
        states(answer) == [(2, [2]), (2, [2]), (-1, [1]), (2, [2])] and answer.controller_id == 2
    )
    cluster.until(2, is_alone, "2 leads what it can")
    ask_everything(cluster, 2, "1 has crashed")


def ask_everything(cluster: Cluster, broker_id: int, note: str) -> None:
    def ask(request: Message, *versions: int, what: str) -> None:
        for version in versions:
            cluster.ask(broker_id, request, version, f"{note}: {what}")

    cluster.settle()
    ask(MetadataRequest(topics=[]), 0, what="all topics")
    ask(MetadataRequest(topics=None), 1, 5, 9, 12, what="all topics")
    for topic, partition in [*PARTITIONS, (BOTH, UNKNOWN_PARTITION)]:
        what = f"{topic}-{partition}"
        known = cluster.topic_id(broker_id, topic)
        unanswered = produce(topic, batch(), partition=partition, acks=0)
        cluster.ask_unanswered(broker_id, unanswered, 9, f"{note}: {what}, acks 0")
        for acks in (1, -1):
            ask(produce(topic, batch(), partition=partition, acks=acks), 7, 10, 11, what=f"{what}, acks {acks}")
        for epoch in EPOCHS:
            asked = fetch_partition(partition, 1, current_leader_epoch=epoch)
            versions = (11, 12, 15, 16, 17) if epoch in (-1, 0) else (16,)
            ask(fetch(topic, asked, topic_id=known), *versions, what=f"{what}, epoch {epoch}")
            ask(list_offsets(topic, -1, partition=partition, current_leader_epoch=epoch), 7, what=f"{what}, {epoch}")
            ask(epoch_end(topic, 0, partition=partition, current=epoch), 4, what=f"{what}, epoch {epoch}")
        ask(list_offsets(topic, -2, partition=partition), 0, 1, 7, what=what)
        deletion = DeleteRecordsPartition(partition_index=partition, offset=1)
        of_topic = DeleteRecordsTopic(name=topic, partitions=[deletion])
        ask(DeleteRecordsRequest(topics=[of_topic], timeout_ms=30_000), 2, what=what)


def test_cluster_gives_clients_the_same_responses_as_kafka(clusters: tuple[Cluster, Cluster]) -> None:
    with ThreadPoolExecutor() as pool:
        list(pool.map(live, clusters))
    of_kafka, of_pybroker = (cluster.steps for cluster in clusters)
    assert len(of_kafka) > 500
    all_found = differences(of_kafka, of_pybroker)
    found = [each for each in all_found if not is_allowed_everywhere(each) and not ONE_EPOCH_LESS.covers(each)]
    assert not found, "\n".join(map(str, found))
