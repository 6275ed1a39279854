"""Transactions after ``__transaction_state`` got more partitions, which Kafka's controllers allow."""

from pathlib import Path

import pytest
from pybroker.base.coordinator_partition import partition_for_key
from pybroker.base.topic_partition import TopicPartition
from pybroker.controller.topics import topic_growth
from pybroker.protocol.errors import ErrorCode
from pybroker.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from support.in_process.broker_cluster import BrokerCluster, until

from .test_transactions import SETTINGS, STATE, Client, until_marked


async def test_transactions_go_on_when_their_topic_gets_more_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The new number of partitions would move the id "t" from broker 1 to broker 2."""
    assert (partition_for_key("t", 2), partition_for_key("t", 3)) == (0, 2)
    cluster, orders = BrokerCluster(tmp_path, SETTINGS), TopicPartition("orders", 0)
    await cluster.start(1, 2)
    await until(lambda: all(len(each._cache.broker_ids) == 2 for each in cluster.servers.values()), "both brokers")
    await cluster.create_topic(STATE.topic, [1], [2], cleanup_policy="compact")
    await cluster.create_topic("orders", [2])
    client = Client(cluster)
    await client.start()

    monkeypatch.setattr(topic_growth, "_FIXED", {})  # as a controller that does not refuse it
    more = CreatePartitionsTopic(name=STATE.topic, count=3, assignments=[CreatePartitionsAssignment(broker_ids=[2])])
    answer = await cluster.ask(cluster.controller_id, CreatePartitionsRequest(topics=[more], timeout_ms=30_000), 3)
    assert answer.results[0].error_code == ErrorCode.NONE, answer
    await until(
        lambda: all(each._cache.partition_count(STATE.topic) == 3 for each in cluster.servers.values()), "growth"
    )

    await client.write(orders)  # broker 2 asks broker 1 about the transaction
    assert await client.end() == ErrorCode.NONE
    await until_marked(cluster, [orders], True)
    told = [line for line in caplog.messages if "__transaction_state has 3 partitions now, but 2" in line]
    assert len(told) == 2, "each broker tells it once"
    await cluster.close()
