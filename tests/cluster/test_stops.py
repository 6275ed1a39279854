"""Tests of stopping brokers: one after another, all at once, and without ZooKeeper."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from support.clients.async_wire_client import AsyncWireClient
from support.in_process.broker_cluster import BrokerCluster, until
from support.in_process.replicas import batch_of
from support.in_process.silent_broker import SilentBroker

TP = TopicPartition("orders", 0)
LONGER_THAN_ANY_TEST_MS = "3600000"


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[BrokerCluster]:
    """A broker that waits to retry its controlled shutdown would wait for longer than the test."""
    cluster = BrokerCluster(tmp_path, {"controlled.shutdown.retry.backoff.ms": LONGER_THAN_ANY_TEST_MS})
    yield cluster
    await cluster.close()


async def start_in_sync(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2, 3)
    await cluster.create_topic("orders", [1, 2, 3], [2, 3, 1], [3, 1, 2])
    for partition in range(3):
        each = TopicPartition("orders", partition)
        await until(lambda each=each: cluster.isr_of(each) == {1, 2, 3}, "all are in sync")  # type: ignore[misc]
        leader = cluster.leader_of(each)
        assert leader is not None
        assert await cluster.produce(leader, each, b"a") == (ErrorCode.NONE, 0)


@pytest.mark.parametrize("order", [[1, 2, 3], [3, 2, 1]], ids=["controller first", "controller last"])
async def test_brokers_stop_one_after_another_and_the_last_does_not_wait(
    cluster: BrokerCluster, order: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    await start_in_sync(cluster)
    for broker_id in order:
        await cluster.stop(broker_id)
    assert "stopping while still leader" not in caplog.text, "a broker stopped before it received the LeaderAndIsr"
    await cluster.start(order[-1])
    await until(lambda: cluster.leader_of(TP) == order[-1], "who was last leads")
    assert cluster.offsets(order[-1], TP)[1] == 1


async def test_brokers_stopped_at_once_do_not_wait_for_each_other(cluster: BrokerCluster) -> None:
    await start_in_sync(cluster)
    await asyncio.gather(*[cluster.stop(broker_id) for broker_id in (1, 2, 3)])


async def test_controller_stops_while_zookeeper_is_down(tmp_path: Path) -> None:
    """No leader can be elected until ZooKeeper is back."""
    cluster = BrokerCluster(tmp_path, {"controller.socket.timeout.ms": LONGER_THAN_ANY_TEST_MS})
    await start_in_sync(cluster)
    assert cluster.controller_id == 1
    controller = cluster[1]._metadata.controller
    cluster.zookeeper.cut("broker 1")
    await until(lambda: not controller._can_write, "it has noticed")
    await cluster.stop(1)
    cluster.zookeeper.heal("broker 1")
    cluster.expire(1)
    await until(lambda: cluster.leader_of(TP) in (2, 3), "another leads")
    await cluster.close()


async def test_requests_waiting_for_another_broker_get_a_retriable_error_at_stop(tmp_path: Path) -> None:
    """The response comes before the connection is closed; otherwise the client would not know whether its records were
    written.
    """
    cluster, silent = BrokerCluster(tmp_path), SilentBroker()
    await cluster.start(1)
    await silent.join(cluster.zookeeper)
    await until(lambda: silent.broker_id in cluster[1]._cache.broker_ids, "it is known")
    await cluster.create_topic("orders", [1])
    await cluster.create_topic("__transaction_state", [silent.broker_id])
    links = cluster[1]._links
    assert links is not None
    await until(lambda: links._leader_of_transactions(0) == silent.broker_id, "the coordinator is known")
    batch = batch_of(b"a", producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True)
    data = [TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=batch)])]
    request = ProduceRequest(transactional_id="t", acks=-1, timeout_ms=30_000, topic_data=data)
    client = await AsyncWireClient.connect(f"127.0.0.1:{cluster[1].endpoints[0].port}")
    answer = asyncio.ensure_future(client.ask(request, 9))
    checks = cluster[1]._coordinators.transaction_checks
    await until(lambda: checks._waiting, "the coordinator is asked")
    await cluster.stop(1)
    assert (await answer).responses[0].partition_responses[0].error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    client.close()
    await silent.leave()
