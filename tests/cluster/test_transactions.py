"""Transactions in a cluster: coordinators move and die, and markers go to the leaders on other brokers."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.tree.znodes import BrokerInfo, RegisteredEndpoint
from pybroker.protocol.codec import Message
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTopic
from pybroker.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from pybroker.protocol.messages.api_versions import ApiVersionsRequest
from pybroker.protocol.messages.end_txn import EndTxnRequest
from pybroker.protocol.messages.init_producer_id import InitProducerIdRequest
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from pybroker.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from pybroker.protocol.records.batch import iter_batches
from pybroker.protocol.records.control import read_marker
from support.clients.async_wire_client import AsyncWireClient
from support.in_process.broker_cluster import BrokerCluster, until
from support.in_process.replicas import batch_of

STATE = TopicPartition("__transaction_state", 0)
ORDERS = [TopicPartition("orders", index) for index in range(3)]
SETTINGS = {
    "auto.leader.rebalance.enable": "false",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "100",
    "transaction.state.log.min.isr": "1",
    "transaction.state.log.num.partitions": "1",
    "transaction.state.log.replication.factor": "3",
}
BUSY = {
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
}


class Client:
    """A transactional producer of the id "t" that sends each request once to the broker that the test names, or to the
    leader, again until the response is final."""

    produce_version, end_version = 9, 3

    def __init__(self, cluster: BrokerCluster) -> None:
        self.cluster = cluster
        self.identity = (-1, -1)
        self.sequences: dict[TopicPartition, int] = {}

    async def ask_coordinator(self, request: Message, version: int, code_in: Callable[[Any], int]) -> Any:
        return await self._ask(STATE, request, version, code_in)

    async def start(self, timeout_ms: int = 60_000) -> None:
        request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=timeout_ms)
        answer = await self.ask_coordinator(request, 4, lambda answer: int(answer.error_code))
        assert answer.error_code == ErrorCode.NONE, answer
        self.identity = answer.producer_id, answer.producer_epoch
        self.sequences = {}

    async def add(self, *partitions: TopicPartition) -> None:
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="t",
            v3_and_below_producer_id=self.identity[0],
            v3_and_below_producer_epoch=self.identity[1],
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name=each.topic, partitions=[each.partition]) for each in partitions
            ],
        )

        def code_in(answer: Any) -> int:
            return int(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

        assert code_in(await self.ask_coordinator(request, 3, code_in)) == ErrorCode.NONE

    async def produce(self, partition: TopicPartition, value: bytes) -> int:
        sequence = self.sequences.get(partition, 0)
        records = batch_of(
            value,
            producer_id=self.identity[0],
            producer_epoch=self.identity[1],
            base_sequence=sequence,
            is_transactional=True,
        )
        data = PartitionProduceData(index=partition.partition, records=records)
        request = ProduceRequest(
            transactional_id="t",
            acks=-1,
            timeout_ms=30_000,
            topic_data=[TopicProduceData(name=partition.topic, partition_data=[data])],
        )

        def code_in(answer: Any) -> int:
            return int(answer.responses[0].partition_responses[0].error_code)

        code = code_in(await self._ask(partition, request, self.produce_version, code_in))
        if code == ErrorCode.NONE:
            self.sequences[partition] = sequence + 1
        return code

    async def end(self, *, committed: bool = True) -> int:
        request = EndTxnRequest(
            transactional_id="t", producer_id=self.identity[0], producer_epoch=self.identity[1], committed=committed
        )
        answer = await self.ask_coordinator(request, self.end_version, lambda answer: int(answer.error_code))
        if answer.producer_id >= 0:
            self.identity, self.sequences = (answer.producer_id, answer.producer_epoch), {}
        return int(answer.error_code)

    async def write(self, *partitions: TopicPartition, value: bytes = b"v") -> None:
        """Begin a transaction with a record in each partition."""
        await self.add(*partitions)
        for partition in partitions:
            assert await self.produce(partition, value) == ErrorCode.NONE

    async def _ask(
        self, partition: TopicPartition, request: Message, version: int, code_in: Callable[[Any], int]
    ) -> Any:
        answers: list[Any] = []

        async def is_final() -> bool:
            leader = self.cluster.leader_of(partition)
            if leader is None:
                return False
            try:
                answers.append(await self.cluster.ask(leader, request, version))
            except (ConnectionError, EOFError):  # the broker was killed
                return False
            return code_in(answers[-1]) not in BUSY

        await until_true(is_final, f"a final response to {type(request).__name__}")
        return answers[-1]


class ClientOfVersion2(Client):
    """Leaders add its partitions, and each end gives it a new epoch."""

    produce_version, end_version = 12, 5

    async def add(self, *partitions: TopicPartition) -> None:
        """Nothing to do."""


async def until_true(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    for _ in range(2_000):
        if await condition():
            return
        await asyncio.sleep(0.01)
    raise AssertionError(what)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[BrokerCluster]:
    """Three brokers. Broker 1 leads the state partition; broker n + 1 leads partition n of "orders" alone."""
    cluster = BrokerCluster(tmp_path, SETTINGS)
    await cluster.start(1, 2, 3)
    await until(lambda: all(len(each._cache.broker_ids) == 3 for each in cluster.servers.values()), "all know all")
    await cluster.create_topic(STATE.topic, [1, 2, 3], cleanup_policy="compact")
    await cluster.create_topic("orders", [1], [2], [3])
    await until(lambda: cluster.isr_of(STATE) == {1, 2, 3}, "the replicas are in sync")
    caches = [server._cache for server in cluster.servers.values()]
    await until(lambda: all(each.partition_count("orders") == 3 for each in caches), "all brokers know the topic")
    yield cluster
    await cluster.close()


async def markers(cluster: BrokerCluster, partition: TopicPartition) -> list[bool]:
    """Whether each marker in the leader's log is a commit."""
    leader = cluster.leader_of(partition)
    if leader is None:
        return []
    chunks = cluster.servers[leader]._partitions.read_all(partition, 1 << 20)
    batches = iter_batches(b"".join([bytes(each) async for each in chunks]))
    found = (read_marker(batch) for batch in batches if batch.is_control)
    return [marker.is_commit for marker in found if marker is not None]


async def until_marked(cluster: BrokerCluster, partitions: Iterable[TopicPartition], *are_commits: bool) -> None:
    """Wait until each partition has these markers."""

    async def are_marked() -> bool:
        return all([await markers(cluster, each) == [*are_commits] for each in partitions])

    await until_true(are_marked, f"the partitions have the markers {are_commits}")


@pytest.mark.parametrize("is_commit", [True, False])
async def test_each_leader_writes_the_marker_of_its_partition(cluster: BrokerCluster, is_commit: bool) -> None:
    client = Client(cluster)
    await client.start()
    await client.write(*ORDERS)
    assert await client.end(committed=is_commit) == ErrorCode.NONE
    await until_marked(cluster, ORDERS, is_commit)


async def test_leaders_refuse_records_of_a_partition_that_is_not_in_the_transaction(cluster: BrokerCluster) -> None:
    """The leader asks the coordinator on another broker, or itself."""
    client = Client(cluster)
    await client.start()
    await client.write(ORDERS[0])
    for partition in ORDERS[1:]:
        assert await client.produce(partition, b"stray") == ErrorCode.INVALID_TXN_STATE
    await client.end()
    await until_marked(cluster, [ORDERS[0]], True)
    assert await client.produce(ORDERS[0], b"stray") == ErrorCode.INVALID_TXN_STATE


async def test_open_transaction_goes_on_when_its_coordinator_dies(cluster: BrokerCluster) -> None:
    client = Client(cluster)
    await client.start()
    await client.write(ORDERS[1], ORDERS[2])
    await cluster.kill(1)
    cluster.expire(1)
    assert await client.end() == ErrorCode.NONE
    await until_marked(cluster, ORDERS[1:], True)
    await client.write(ORDERS[1])
    assert await client.end(committed=False) == ErrorCode.NONE
    await until_marked(cluster, [ORDERS[1]], True, False)


async def test_new_coordinator_ends_a_decided_transaction_whose_leader_was_away(cluster: BrokerCluster) -> None:
    client = Client(cluster)
    await client.start()
    await client.write(ORDERS[1], ORDERS[2])
    await cluster.kill(3)
    cluster.expire(3)
    ending = asyncio.create_task(client.end())  # may be answered only when all leaders are back
    await until_marked(cluster, [ORDERS[1]], True)
    await cluster.kill(1)
    cluster.expire(1)
    await cluster.start(3)
    await until_marked(cluster, [ORDERS[2]], True)
    assert await ending == ErrorCode.NONE


async def test_state_partition_moves_with_an_open_transaction(cluster: BrokerCluster) -> None:
    client = Client(cluster)
    await client.start()
    await client.write(*ORDERS)
    partition = ReassignablePartition(partition_index=0, replicas=[2, 3])
    request = AlterPartitionReassignmentsRequest(
        topics=[ReassignableTopic(name=STATE.topic, partitions=[partition])], timeout_ms=60_000
    )
    await cluster.ask(cluster.controller_id, request, 0)
    await until(lambda: cluster.leader_of(STATE) in (2, 3), "another broker coordinates")
    assert await client.end() == ErrorCode.NONE
    await until_marked(cluster, ORDERS, True)


async def test_transaction_of_a_dead_producer_times_out_under_a_new_coordinator(cluster: BrokerCluster) -> None:
    client = Client(cluster)
    await client.start(timeout_ms=500)
    await client.write(ORDERS[1])
    await cluster.kill(1)
    cluster.expire(1)
    await until_marked(cluster, [ORDERS[1]], False)
    assert await client.end() in (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH)


async def test_starting_producer_fences_its_predecessor_on_every_leader(cluster: BrokerCluster) -> None:
    first, second = Client(cluster), Client(cluster)
    await first.start()
    await first.write(*ORDERS)
    await second.start()
    await until_marked(cluster, ORDERS, False)
    await second.write(*ORDERS)
    for partition in ORDERS:
        assert await first.produce(partition, b"zombie") == ErrorCode.INVALID_PRODUCER_EPOCH
    assert await second.end() == ErrorCode.NONE


# -- transaction version 2


async def raise_level(cluster: BrokerCluster, level: int = 2) -> tuple[int, str | None]:
    update = FeatureUpdateKey(feature="transaction.version", max_version_level=level)
    response = await cluster.ask(cluster.controller_id, UpdateFeaturesRequest(feature_updates=[update]), 1)
    (result,) = response.results
    return result.error_code, result.error_message


@pytest.fixture
async def cluster_at_2(cluster: BrokerCluster) -> BrokerCluster:
    assert await raise_level(cluster) == (ErrorCode.NONE, None)
    levels = [server._settings.features for server in cluster.servers.values()]
    await until(lambda: all(each.transaction_version == 2 for each in levels), "every broker knows the level")
    cluster.hang_up()  # the brokers have closed these connections
    return cluster


async def connect(cluster: BrokerCluster, broker_id: int) -> AsyncWireClient:
    return await AsyncWireClient.connect(f"127.0.0.1:{cluster[broker_id].endpoints[0].port}")


async def test_every_broker_tells_clients_the_level_and_its_versions(cluster_at_2: BrokerCluster) -> None:
    request = ApiVersionsRequest(client_software_name="x", client_software_version="1")
    for broker_id in cluster_at_2.servers:
        client = await connect(cluster_at_2, broker_id)
        answer = await client.ask(request, 3)
        (level,) = answer.finalized_features
        assert (level.name, level.max_version_level, answer.finalized_features_epoch) == ("transaction.version", 2, 1)
        assert max(each.max_version for each in answer.api_keys if each.api_key == 0) == 12
        client.close()


async def test_connections_end_when_the_level_changes(cluster: BrokerCluster) -> None:
    client = await connect(cluster, 2)
    await client.ask(ApiVersionsRequest(), 0)
    assert await raise_level(cluster) == (ErrorCode.NONE, None)
    await client.ended()
    client.close()


async def test_level_is_refused_while_a_broker_without_the_feature_is_registered(cluster: BrokerCluster) -> None:
    kafka = BrokerInfo(4, (RegisteredEndpoint("PLAINTEXT", "PLAINTEXT", "localhost", 1),), 0)
    store = await cluster.zookeeper.open("kafka")
    await store.create(kafka.path, kafka.encode(), ephemeral=True)
    controller = cluster[cluster.controller_id]._metadata.controller
    await until(lambda: 4 in controller.context.live_ids, "the controller knows the broker")
    code, message = await raise_level(cluster)
    assert code == ErrorCode.INVALID_UPDATE_VERSION
    assert message is not None
    assert message.endswith("Broker 4 does not support this feature.")


@pytest.mark.parametrize("is_commit", [True, False])
async def test_leaders_add_their_partitions_and_every_end_gives_a_new_epoch(
    cluster_at_2: BrokerCluster, is_commit: bool
) -> None:
    client = ClientOfVersion2(cluster_at_2)
    await client.start()
    producer_id, epoch = client.identity
    for number in range(1, 4):
        await client.write(*ORDERS)
        assert await client.end(committed=is_commit) == ErrorCode.NONE
        assert client.identity == (producer_id, epoch + number)
    await until_marked(cluster_at_2, ORDERS, *[is_commit] * 3)


async def test_repeated_end_gets_the_same_answer_from_the_next_coordinator(cluster_at_2: BrokerCluster) -> None:
    client = ClientOfVersion2(cluster_at_2)
    await client.start()
    await client.write(ORDERS[1], ORDERS[2])
    before = client.identity
    assert await client.end() == ErrorCode.NONE
    after, client.identity = client.identity, before
    await cluster_at_2.kill(1)
    cluster_at_2.expire(1)
    assert await client.end() == ErrorCode.NONE
    assert client.identity == after
    await until_marked(cluster_at_2, ORDERS[1:], True)
    await client.write(ORDERS[1])
    assert await client.end() == ErrorCode.NONE


async def test_delayed_end_cannot_end_the_next_transaction(cluster_at_2: BrokerCluster) -> None:
    client = ClientOfVersion2(cluster_at_2)
    await client.start()
    await client.write(*ORDERS)
    delayed = ClientOfVersion2(cluster_at_2)
    delayed.identity = client.identity
    assert await client.end() == ErrorCode.NONE
    await client.write(*ORDERS)
    assert await delayed.end() == ErrorCode.PRODUCER_FENCED
    assert await client.end(committed=False) == ErrorCode.NONE
    await until_marked(cluster_at_2, ORDERS, True, False)


async def test_clients_of_older_versions_go_on_at_level_2(cluster_at_2: BrokerCluster) -> None:
    client = Client(cluster_at_2)
    await client.start()
    for _ in range(2):
        await client.write(*ORDERS)
        assert await client.end() == ErrorCode.NONE
    await until_marked(cluster_at_2, ORDERS, True, True)
