"""Replication between whole brokers, over real sockets, with their real controller."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.protocol.errors import ErrorCode
from pybroker.storage.topic_partition import TopicPartition
from support.broker_cluster import BrokerCluster, until

TP = TopicPartition("orders", 0)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[BrokerCluster]:
    cluster = BrokerCluster(tmp_path)
    yield cluster
    await cluster.close()


async def test_what_is_acknowledged_by_all_is_on_all(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2, 3)
    await cluster.create_topic("orders", [2, 1, 3])
    await until(lambda: cluster.leader_of(TP) == 2, "broker 2 leads")
    for number in range(10):
        assert await cluster.produce(2, TP, b"%d" % number) == (ErrorCode.NONE, number)
    for broker_id in (1, 2, 3):
        assert cluster.offsets(broker_id, TP)[1] == 10
    assert cluster.isr_of(TP) == {1, 2, 3}
    await until(lambda: cluster.offsets(1, TP) == cluster.offsets(3, TP) == (10, 10), "the HW is known everywhere")
