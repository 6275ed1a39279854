"""Tests of brokers that lost only their ZooKeeper session: they still lead, but must not acknowledge lost records.

**Why it holds**: a record is committed when every ISR member has it. The leader removes a member only after the
controller has written the change, which it refuses for an unregistered broker. A new leader comes from that ISR and no
longer fetches from the old one. So the new leader has the record, or it is never acknowledged.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from pybroker.replication.partition.isr import CommittedIsr, IsrState, PendingShrink
from support.in_process.broker_cluster import BrokerCluster, until

TP = TopicPartition("orders", 0)


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[BrokerCluster]:
    """The leader soon proposes to remove followers that do not fetch."""
    cluster = BrokerCluster(tmp_path, {"replica.lag.time.max.ms": "1000", "replica.fetch.wait.max.ms": "100"})
    yield cluster
    await cluster.close()


def lose_session(cluster: BrokerCluster, broker_id: int) -> None:
    """Cuts the broker off from ZooKeeper, which ends its session; it still reaches other brokers."""
    cluster.zookeeper.cut(f"broker {broker_id}")
    cluster.zookeeper.expire(cluster[broker_id].metadata_store.session_id)


def isr(cluster: BrokerCluster) -> IsrState:
    """Returns the ISR as broker 2 knows it."""
    leader = cluster.hosted(2, TP).partition.leader
    assert leader is not None
    return leader.isr


async def rejoin(cluster: BrokerCluster, broker_id: int) -> None:
    before = cluster[broker_id]._metadata.broker_epoch
    cluster.zookeeper.heal(f"broker {broker_id}")
    await until(lambda: cluster[broker_id]._metadata.broker_epoch > before, "it is registered anew")


async def test_leader_without_session_acknowledges_nothing_its_successor_lacks(cluster: BrokerCluster) -> None:
    await cluster.start(1, 2, 3)
    await cluster.create_topic("orders", [2, 3], min_insync_replicas="1")
    await until(lambda: cluster.isr_of(TP) == {2, 3} and cluster.follows(3, TP), "both are in sync")
    assert await cluster.produce(2, TP, b"kept") == (ErrorCode.NONE, 0)
    lose_session(cluster, 2)
    await until(lambda: cluster[3]._partitions.is_leader(TP), "3 leads, too")
    assert cluster[2]._partitions.is_leader(TP), "2 has not been told"

    refused, _ = await cluster.produce(2, TP, b"of the old leader", timeout_ms=3_000)
    assert refused in (ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    await until(lambda: isinstance(isr(cluster), PendingShrink), "it wants 3 to leave the ISR")
    assert isr(cluster).maximal == {2, 3}, "that is not granted to who is not registered"
    assert cluster.offsets(2, TP) == (1, 2)
    assert await cluster.produce(3, TP, b"of the new leader") == (ErrorCode.NONE, 1)

    await rejoin(cluster, 2)
    await until(lambda: cluster.leader_of(TP) == 3 and cluster.isr_of(TP) == {2, 3}, "2 follows")
    assert await cluster.values(2, TP) == await cluster.values(3, TP) == [b"kept", b"of the new leader"]


async def test_leader_alone_in_the_isr_keeps_records_it_acknowledges_without_session(cluster: BrokerCluster) -> None:
    """No other broker can be elected; when it reconnects it leads."""
    await cluster.start(1, 2, 3)
    await cluster.create_topic("orders", [2, 3], min_insync_replicas="1")
    await until(lambda: cluster.isr_of(TP) == {2, 3}, "both are in sync")
    await cluster.stop(3)
    await until(lambda: cluster.isr_of(TP) == {2}, "2 is alone")
    epoch = cluster.hosted(2, TP).partition.leader_epoch
    lose_session(cluster, 2)
    controller = cluster[1]._metadata.controller
    await until(lambda: controller.context.live_ids == [1], "2 is missed")
    await controller.drained()
    await cluster.start(3)
    await controller.drained()
    assert await cluster.produce(2, TP, b"alone") == (ErrorCode.NONE, 0)
    await rejoin(cluster, 2)
    await until(lambda: cluster.isr_of(TP) == {2, 3}, "3 has caught up")
    assert cluster.hosted(2, TP).partition.leader_epoch > epoch
    assert await cluster.values(2, TP) == await cluster.values(3, TP) == [b"alone"]


async def test_broker_forgets_topics_deleted_while_it_had_no_session(cluster: BrokerCluster) -> None:
    """It has no replica of the deleted topics. A topic created again with the same name is a different topic."""
    await cluster.start(1, 2, 3)
    for topic in ("kept", "deleted", "remade"):
        await cluster.create_topic(topic, [1, 2], [1, 2])
    metadata = cluster[3]._cache
    await until(lambda: metadata.partition_count("remade") == 2, "3 knows all of them")
    lose_session(cluster, 3)
    for topic in ("deleted", "remade"):
        await cluster.delete_topic(topic)
    controller = cluster[1]._metadata.controller
    await until(lambda: not controller.is_being_deleted("remade"), "it is gone from ZooKeeper")
    await cluster.create_topic("remade", [1, 2])
    assert metadata.has_topic("deleted")
    await rejoin(cluster, 3)
    await until(lambda: not metadata.has_topic("deleted"), "3 knows what is no more")
    await until(lambda: metadata.partition_count("remade") == 1, "3 knows what was made anew")
    assert metadata.partition_count("kept") == 2


async def test_cluster_without_zookeeper_serves_clients_and_elects_again_after_it_returns(
    cluster: BrokerCluster,
) -> None:
    await cluster.start(1, 2, 3)
    await cluster.create_topic("orders", [2, 3, 1], min_insync_replicas="2")
    await until(lambda: cluster.isr_of(TP) == {1, 2, 3}, "all are in sync")
    assert await cluster.produce(2, TP, b"before") == (ErrorCode.NONE, 0)
    epochs = {broker_id: cluster[broker_id]._metadata.broker_epoch for broker_id in (1, 2, 3)}
    epoch = cluster.hosted(2, TP).partition.leader_epoch
    cluster.zookeeper.stop()
    await until(lambda: not any(cluster[b]._metadata._can_write for b in (1, 2, 3)), "all have noticed")
    assert await cluster.produce(2, TP, b"meanwhile") == (ErrorCode.NONE, 1)

    links = cluster[3]._links
    assert links is not None
    hosted = cluster.hosted(3, TP)
    links.fetchers.unfollow(TP)  # suspends the process
    refused, _ = await cluster.produce(2, TP, b"for three", timeout_ms=2_000)
    assert refused is ErrorCode.REQUEST_TIMED_OUT, "who is in the ISR cannot be left out now"
    assert isr(cluster) == PendingShrink(CommittedIsr(frozenset({1, 2, 3})), frozenset({3}))

    cluster.zookeeper.start()
    await until(lambda: cluster.isr_of(TP) == {1, 2}, "the ISR that was wished")
    await until(lambda: cluster.offsets(2, TP) == (3, 3), "it has committed")
    links.fetchers.follow(hosted, 2)
    await until(lambda: cluster.isr_of(TP) == {1, 2, 3}, "all are in sync again")
    assert {broker_id: cluster[broker_id]._metadata.broker_epoch for broker_id in (1, 2, 3)} == epochs
    assert cluster.hosted(2, TP).partition.leader_epoch == epoch
