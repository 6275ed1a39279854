"""Compares what controllers write: the same operations with Apache Kafka and with pybroker as controller.

ZooKeeper and the brokers are real. In the first cluster broker 0 is a Kafka, in the second a pybroker; it starts first,
so it becomes controller. Partitions are on brokers 1, 2 and 3, which are pybrokers in both.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
from kazoo.client import KazooClient
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.server import BrokerServer
from pybroker.config.load import load_config
from pybroker.controller.tree.cluster_tree import ClusterTree
from pybroker.controller.tree.renewing_store import RenewingStore
from pybroker.controller.tree.replica_assignment import ReplicaAssignment
from pybroker.controller.tree.zookeeper_settings import ZooKeeperSettings
from pybroker.controller.tree.zookeeper_store import ZooKeeperStore
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages import alter_partition_reassignments as ar
from pybroker.protocol.messages import create_partitions as cp
from pybroker.protocol.messages import create_topics as ct
from pybroker.protocol.messages import delete_topics as dt
from pybroker.protocol.messages import elect_leaders as el
from pybroker.protocol.messages.metadata import MetadataRequest, MetadataResponse
from support.clients.async_wire_client import AsyncWireClient
from support.processes.kafka_process import KafkaProcess, ZooKeeperProcess
from support.processes.ports import free_port
from support.time.patience import LOOKS

SESSION_TIMEOUT_MS = 60_000
"""Long, so that no session expires on a busy machine; sessions of killed brokers are ended explicitly."""
COMMON = {
    "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
    "auto.leader.rebalance.enable": "false",
    "offsets.topic.replication.factor": "1",
}

State = tuple[int, int, tuple[int, ...]]
"""Leader, leader epoch, ISR."""
Snapshot = tuple[str, dict[str, State], dict[str, ReplicaAssignment]]


class Cluster:
    def __init__(self, directory: Path, zookeeper: ZooKeeperProcess, tree: ClusterTree) -> None:
        self.tree = tree
        self.history: list[Snapshot] = []
        self._directory = directory
        self._zookeeper = zookeeper
        self._servers: dict[int, BrokerServer] = {}
        self._controller_port = 0

    # -- brokers

    async def start(self, broker_id: int) -> None:
        settings = {
            **COMMON,
            "broker.id": str(broker_id),
            "listeners": f"PLAINTEXT://127.0.0.1:{free_port()}",
            "log.dirs": str(self._directory / str(broker_id)),
            "zookeeper.connect": self._zookeeper.connect,
        }
        server = BrokerServer(load_config("\n".join(f"{name}={value}" for name, value in settings.items())))
        await server.start()
        self._servers[broker_id] = server

    async def stop(self, broker_id: int) -> None:
        server = self._servers.pop(broker_id)
        await server.stop()
        await server.settle()

    async def kill(self, broker_id: int) -> None:
        server = self._servers.pop(broker_id)
        store = server.metadata_store
        assert isinstance(store, RenewingStore)
        assert isinstance(store._session, ZooKeeperStore)
        credentials = store._session.credentials
        server.kill()
        await server.settle()
        await asyncio.to_thread(self._end_session, credentials)

    def _end_session(self, credentials: tuple[int, bytes]) -> None:
        client = KazooClient(self._zookeeper.connect, client_id=credentials)
        client.start()
        client.stop()
        client.close()

    async def end(self) -> None:
        for broker_id in list(self._servers):
            await self.kill(broker_id)

    def controlled_at(self, port: int) -> None:
        self._controller_port = port

    def controlled_by(self, broker_id: int) -> None:
        self._controller_port = self._servers[broker_id].endpoints[0].port

    # -- operations and the resulting tree

    async def ask(self, request: Message, version: int) -> Message:
        client = await AsyncWireClient.connect(f"127.0.0.1:{self._controller_port}")
        try:
            answer: Message = await client.ask(request, version)
        finally:
            client.close()
        return answer

    async def states(self) -> dict[TopicPartition, State]:
        infos = await self.tree.topic_infos(await self.tree.topics())
        partitions = [TopicPartition(info.topic, index) for info in infos for index in info.partitions]
        states = await self.tree.partition_states(partitions)
        return {
            partition: (state.leader_and_isr.leader, state.leader_and_isr.leader_epoch, state.leader_and_isr.isr)
            for partition, state in states.items()
        }

    async def note(self, title: str, is_so: Callable[[dict[TopicPartition, State]], bool]) -> None:
        """Waits until the tree has the expected state, then records all of it."""

        async def is_so_in_the_tree() -> bool:
            return is_so(await self.states())

        await until(is_so_in_the_tree, title)
        infos = await self.tree.topic_infos(await self.tree.topics())
        assignments = {f"{info.topic}-{index}": each for info in infos for index, each in info.partitions.items()}
        states = {str(partition): state for partition, state in (await self.states()).items()}
        self.history.append((title, states, assignments))


@asynccontextmanager
async def cluster(directory: Path, *, by_kafka: bool) -> AsyncIterator[Cluster]:
    zookeeper = ZooKeeperProcess(directory / "zookeeper", {"maxSessionTimeout": str(SESSION_TIMEOUT_MS)}).start()
    kafka = KafkaProcess(directory / "kafka", zookeeper, COMMON)
    try:
        store = await ZooKeeperStore.open(
            ZooKeeperSettings(zookeeper.connect, "", SESSION_TIMEOUT_MS, SESSION_TIMEOUT_MS)
        )
        made = Cluster(directory, zookeeper, ClusterTree(store))
        if by_kafka:
            await asyncio.to_thread(kafka.start)
            made.controlled_at(kafka.port)
        else:
            await made.start(0)
            made.controlled_by(0)
        for broker_id in (1, 2, 3):
            await made.start(broker_id)
        yield made
        await made.end()
        await store.close()
    finally:
        kafka.kill()
        zookeeper.kill()


def isrs(*members: set[int]) -> Callable[[dict[TopicPartition, State]], bool]:
    """Returns the ISRs of partitions 0, 1, … of topic t."""

    def are_so(states: dict[TopicPartition, State]) -> bool:
        return [
            set(states[p][2]) if (p := TopicPartition("t", i)) in states else None for i in range(len(members))
        ] == [*members]

    return are_so


async def live_through(cluster: Cluster) -> None:
    assignments = [
        ct.CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
        for index, brokers in enumerate(([1, 2], [2, 3], [3, 1]))
    ]
    topic = ct.CreatableTopic(name="t", num_partitions=-1, replication_factor=-1, assignments=assignments)
    await until(lambda: knows_all(cluster), "the controller knows all brokers")
    created = await cluster.ask(ct.CreateTopicsRequest(topics=[topic], timeout_ms=30_000), 7)
    assert isinstance(created, ct.CreateTopicsResponse)
    assert created.topics[0].error_code == ErrorCode.NONE, created
    await cluster.note("created", isrs({1, 2}, {2, 3}, {3, 1}))

    await cluster.stop(3)
    await cluster.note("3 was stopped", isrs({1, 2}, {2}, {1}))
    await cluster.start(3)
    await cluster.note("3 is back", isrs({1, 2}, {2, 3}, {3, 1}))
    wished = [el.TopicPartitions(topic="t", partitions=[0, 1, 2])]
    await cluster.ask(el.ElectLeadersRequest(election_type=0, topic_partitions=wished, timeout_ms=30_000), 2)
    await cluster.note("preferred leaders", lambda states: states[TopicPartition("t", 2)][0] == 3)

    for title, replicas, is_so in (
        ("moved", [3, 1], isrs({1, 3}, {2, 3}, {3, 1})),
        ("moved the leader away", [2, 3], isrs({2, 3}, {2, 3}, {3, 1})),
        ("in another order", [3, 2], isrs({2, 3}, {2, 3}, {3, 1})),
        ("more of them", [3, 2, 1], isrs({1, 2, 3}, {2, 3}, {3, 1})),
        ("fewer of them", [1], isrs({1}, {2, 3}, {3, 1})),
    ):
        await reassign(cluster, 0, replicas)
        await until(partial(is_at, cluster, 0, replicas), title)
        await cluster.note(title, is_so)

    await cluster.kill(3)
    await cluster.note("3 has crashed", isrs({1}, {2}, {1}))
    await reassign(cluster, 1, [2, 1])
    await until(partial(is_at, cluster, 1, [2, 1]), "1 in place of 3")
    await cluster.note("the dead one was replaced", isrs({1}, {1, 2}, {1}))
    await cluster.kill(1)
    await cluster.note("1 has crashed", lambda states: states[TopicPartition("t", 0)][0] == -1)
    await cluster.start(3)
    await cluster.start(1)
    await cluster.note("both are back", isrs({1}, {1, 2}, {1, 3}))

    more = cp.CreatePartitionsTopic(name="t", count=4, assignments=[cp.CreatePartitionsAssignment(broker_ids=[2])])
    answer = await cluster.ask(cp.CreatePartitionsRequest(topics=[more], timeout_ms=30_000), 3)
    assert isinstance(answer, cp.CreatePartitionsResponse)
    assert answer.results[0].error_code == ErrorCode.NONE, answer
    await cluster.note("grown", isrs({1}, {1, 2}, {1, 3}, {2}))
    gone = [dt.DeleteTopicState(name="t")]
    await cluster.ask(dt.DeleteTopicsRequest(topics=gone, timeout_ms=30_000), 6)
    await until(lambda: is_gone(cluster), "topic t is gone")


async def reassign(cluster: Cluster, index: int, replicas: list[int]) -> None:
    wish = ar.ReassignablePartition(partition_index=index, replicas=replicas)
    request = ar.AlterPartitionReassignmentsRequest(topics=[ar.ReassignableTopic(name="t", partitions=[wish])])
    answer = await cluster.ask(request, 0)
    assert isinstance(answer, ar.AlterPartitionReassignmentsResponse)
    assert answer.responses[0].partitions[0].error_code == ErrorCode.NONE


async def is_at(cluster: Cluster, index: int, replicas: list[int]) -> bool:
    """Returns whether the topic's node, the last node that a reassignment writes, has these replicas."""
    (info,) = await cluster.tree.topic_infos(["t"])
    return info.partitions[index] == ReplicaAssignment(tuple(replicas))


async def knows_all(cluster: Cluster) -> bool:
    answer = await cluster.ask(MetadataRequest(topics=[]), 12)
    assert isinstance(answer, MetadataResponse)
    return sorted(broker.node_id for broker in answer.brokers) == [0, 1, 2, 3]


async def is_gone(cluster: Cluster) -> bool:
    return not await cluster.tree.topics()


async def until(is_so: Callable[[], Awaitable[bool]], what: str) -> None:
    for _ in range(LOOKS):
        if await is_so():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"not after {LOOKS} looks: {what}")


@pytest.mark.filterwarnings("ignore::ResourceWarning")
async def test_controllers_of_kafka_and_pybroker_write_the_same_tree(tmp_path: Path) -> None:
    histories: list[list[Snapshot]] = []
    for by_kafka in (True, False):
        async with cluster(tmp_path / f"by-kafka-{by_kafka}", by_kafka=by_kafka) as made:
            await live_through(made)
            histories.append(made.history)
    of_kafka, of_pybroker = histories
    assert len(of_kafka) == 14
    for theirs, ours in zip(of_kafka, of_pybroker, strict=True):
        assert ours == theirs
