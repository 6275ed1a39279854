"""The state of share partitions in a cluster: found from every broker, and kept when its coordinator stops."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.base.uuid_text import uuid_text
from pybroker.broker.coordinator.share.ports import SharePartitionKey, StateRead, StateSummary, StateWrite
from pybroker.broker.coordinator.share.state_batch import StateBatch
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.find_coordinator import FindCoordinatorRequest
from pybroker.protocol.messages.read_share_group_state import (
    PartitionData,
    ReadShareGroupStateRequest,
    ReadStateData,
)
from support.in_process.broker_cluster import BrokerCluster, until

STATES = TopicPartition("__share_group_state", 0)
SETTINGS = {
    "group.coordinator.rebalance.protocols": "classic,share",
    "share.coordinator.state.topic.num.partitions": "1",
    "share.coordinator.state.topic.replication.factor": "2",
    "share.coordinator.state.topic.min.isr": "1",
    "auto.leader.rebalance.enable": "false",
}
BATCHES = (StateBatch(3, 5, 2, 1), StateBatch(6, 6, 0, 2))


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[BrokerCluster]:
    cluster = BrokerCluster(tmp_path, SETTINGS)
    yield cluster
    await cluster.close()


async def call(cluster: BrokerCluster, broker_id: int, name: str, *arguments: Any) -> Any:
    """Call a method of the broker's `ShareState`, and wait for its result."""
    share = cluster[broker_id]._coordinators.share
    assert share is not None
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    getattr(share.states, name)(*arguments, answer.set_result)
    return await answer


async def test_states_are_reached_from_every_broker_and_outlive_their_coordinator(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2)
    await until(lambda: all(len(each._cache.broker_ids) == 2 for each in cluster.servers.values()), "both brokers")
    await cluster.create_topic("orders", [1, 2])
    await until(lambda: all(each._cache.has_topic("orders") for each in cluster.servers.values()), "the topic")
    key = SharePartitionKey("g", cluster[1]._cache.topic_id("orders"), 0)

    assert await call(cluster, 1, "initialize", key, 4, 3) is ErrorCode.NONE
    assert await call(cluster, 2, "write", key, StateWrite(4, 0, -1, 3, BATCHES)) is ErrorCode.NONE
    for broker_id in (1, 2):
        assert await call(cluster, broker_id, "read", key, broker_id) == StateRead(4, 3, BATCHES)
        assert await call(cluster, broker_id, "read_summary", key, 0) == StateSummary(4, broker_id, 3, 3)
        assert await call(cluster, broker_id, "read", key, 0) is ErrorCode.FENCED_LEADER_EPOCH

    coordinator = cluster.leader_of(STATES)
    assert coordinator is not None
    asked = FindCoordinatorRequest(key_type=2, coordinator_keys=[f"g:{uuid_text(key.topic_id)}:0", "g"])
    found, refused = (await cluster.ask(1, asked, 6)).coordinators
    assert (found.error_code, found.node_id) == (ErrorCode.NONE, coordinator)
    assert refused.error_code == ErrorCode.INVALID_REQUEST
    await until(lambda: cluster.isr_of(STATES) == {1, 2}, "both replicas")

    await cluster.stop(coordinator)
    (survivor,) = cluster.servers
    assert await call(cluster, survivor, "read", key, 2) == StateRead(4, 3, BATCHES)
    topic = ReadStateData(topic_id=key.topic_id, partitions=[PartitionData(partition=0, leader_epoch=2)])
    response = await cluster.ask(survivor, ReadShareGroupStateRequest(group_id="g", topics=[topic]), 0)
    (result,) = response.results[0].partitions
    assert (result.state_epoch, result.start_offset) == (4, 3)
    assert [(each.first_offset, each.delivery_count) for each in result.state_batches] == [(3, 1), (6, 2)]

    assert await call(cluster, survivor, "delete", key) is ErrorCode.NONE
    assert await call(cluster, survivor, "read", key, 2) is ErrorCode.INVALID_REQUEST


async def test_ends_of_partitions_that_other_brokers_lead_are_known_for_the_lag_of_share_groups(
    cluster: BrokerCluster,
) -> None:
    await cluster.start(1, 2)
    await until(lambda: all(len(each._cache.broker_ids) == 2 for each in cluster.servers.values()), "both brokers")
    await cluster.create_topic("orders", [1], [2])
    await until(lambda: all(each._cache.has_topic("orders") for each in cluster.servers.values()), "the topic")
    wanted = [TopicPartition("orders", partition) for partition in (0, 1, 2)]
    for led in wanted[:2]:
        await cluster.produce(led.partition + 1, led, b"a", b"b")
    ends = dict(zip(wanted, (2, 2, ErrorCode.LEADER_NOT_AVAILABLE), strict=True))
    for broker_id in (1, 2):
        share = cluster[broker_id]._coordinators.share
        assert share is not None
        assert await share.get().end_offsets(wanted) == ends
