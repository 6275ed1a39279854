"""Tests that clients of a stopping leader see only a new leader."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.inter_broker.cluster_links import ClusterLinks
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.produce import (
    LeaderIdAndEpoch,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from support.clients.async_wire_client import AsyncWireClient
from support.in_process.broker_cluster import BrokerCluster, until
from support.in_process.replicas import batch_of

TP = TopicPartition("orders", 0)
PRODUCERS = 5
TURNS = 10
"""Iterations of the event loop, fewer than a former leader still answers for."""


class FollowingProducer:
    """Produces one record after another with acks=all to the leader it knows. It asks for no metadata: it learns
    leaders only from responses (KIP-951).
    """

    def __init__(self, cluster: BrokerCluster, leader_id: int) -> None:
        self._cluster = cluster
        self._connections: dict[int, AsyncWireClient] = {}
        self.leader = LeaderIdAndEpoch(leader_id=leader_id, leader_epoch=0)
        self.acknowledged = 0
        self.refused_by: list[int] = []
        self.is_over = False

    async def run(self) -> None:
        while not self.is_over:
            answer = await self.produce(self.leader.leader_id)
            if answer.error_code == ErrorCode.NONE:
                self.acknowledged += 1
                continue
            assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER, (self.leader, answer)
            self.refused_by.append(self.leader.leader_id)
            if answer.current_leader.leader_epoch > self.leader.leader_epoch:
                self.leader = answer.current_leader
            await asyncio.sleep(0)

    async def produce(self, broker_id: int) -> PartitionProduceResponse:
        """Returns the response; a closed connection fails the test."""
        connection = self._connections.get(broker_id)
        if connection is None:
            server = self._cluster[broker_id].endpoints[0]
            connection = await AsyncWireClient.connect(f"127.0.0.1:{server.port}")
            self._connections[broker_id] = connection
        data = PartitionProduceData(index=TP.partition, records=batch_of(b"record"))
        topic = TopicProduceData(name=TP.topic, partition_data=[data])
        answer = await connection.ask(ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic]), 10)
        partition: PartitionProduceResponse = answer.responses[0].partition_responses[0]
        return partition

    def close(self) -> None:
        for connection in self._connections.values():
            connection.close()


@asynccontextmanager
async def load_on(cluster: BrokerCluster, leader_id: int) -> AsyncIterator[list[FollowingProducer]]:
    """Runs producers; ends when all continue with the next leader. An unexpected response fails the test."""
    producers = [FollowingProducer(cluster, leader_id) for _ in range(PRODUCERS)]
    async with asyncio.TaskGroup() as tasks:
        for producer in producers:
            tasks.create_task(producer.run())
        await until(lambda: all(producer.acknowledged for producer in producers), "the load is on its way")
        yield producers
        before = [producer.acknowledged for producer in producers]
        await until(lambda: all(p.acknowledged > b for p, b in zip(producers, before, strict=True)), "the load goes on")
        for producer in producers:
            producer.is_over = True
    for producer in producers:
        producer.close()


@pytest.mark.parametrize("leader_id", [1, 2], ids=["which is the controller", "which is not the controller"])
async def test_producers_see_only_a_new_leader_when_the_leader_stops(
    cluster: BrokerCluster, leader_id: int, caplog: pytest.LogCaptureFixture
) -> None:
    await cluster.start(1, 2, 3)
    assert cluster.controller_id == 1
    replicas = [leader_id, *(broker_id for broker_id in (1, 2, 3) if broker_id != leader_id)]
    await cluster.create_topic("orders", replicas)
    await until(lambda: cluster.isr_of(TP) == {1, 2, 3}, "all are in sync")
    async with load_on(cluster, leader_id) as producers:
        await cluster.stop(leader_id)
    new_leader = cluster.leader_of(TP)
    for producer in producers:
        assert producer.leader.leader_id == new_leader, "the answer of the one that stopped said who leads"
        assert producer.refused_by.count(leader_id) == 1
    assert "stopping while still leader" not in caplog.text, "the broker stopped before it received the LeaderAndIsr"


async def test_request_just_after_a_leadership_ends_is_answered_with_the_new_leader(
    cluster: BrokerCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The response names the current leader and says that nothing was written; a closed connection
    would say neither."""
    await cluster.start(1, 2, 3)
    await cluster.create_topic("orders", [2, 1, 3])
    await until(lambda: cluster.isr_of(TP) == {1, 2, 3}, "all are in sync")
    producer = FollowingProducer(cluster, leader_id=2)
    await producer.produce(2)
    late: list[asyncio.Task[PartitionProduceResponse]] = []
    hear = ClusterLinks._await_follower_role

    async def hear_and_be_asked(links: ClusterLinks) -> None:
        await hear(links)
        late.append(asyncio.create_task(send_a_little_later()))

    async def send_a_little_later() -> PartitionProduceResponse:
        for _ in range(TURNS):
            await asyncio.sleep(0)
        return await producer.produce(2)

    monkeypatch.setattr(ClusterLinks, "_await_follower_role", hear_and_be_asked)
    await cluster.stop(2)
    (answer,) = await asyncio.gather(*late)
    assert answer.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert answer.current_leader.leader_id == cluster.leader_of(TP)
    producer.close()
