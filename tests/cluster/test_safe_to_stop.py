"""Compares the response of ``/safe-to-stop`` with the fate of each partition when the broker then stops."""

import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from support.clients.http_client import HttpClient
from support.in_process.broker_cluster import BrokerCluster, until

# By topic: the replicas and min.insync.replicas.
TOPICS = {
    "three-one": ([1, 2, 3], 1),
    "three-two": ([2, 3, 1], 2),
    "pair-one": ([3, 2], 1),
    "pair-two": ([2, 3], 2),
    "other-pair": ([1, 3], 1),
    "alone": ([2], 1),
    "elsewhere": ([1], 1),
}


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[BrokerCluster]:
    cluster = BrokerCluster(tmp_path, {"pybroker.http.listeners": "HTTP://127.0.0.1:0"})
    await cluster.start(1, 2, 3)
    for topic, (replicas, min_isr) in TOPICS.items():
        await cluster.create_topic(topic, replicas, min_insync_replicas=str(min_isr))
    await all_are_in_sync(cluster)
    yield cluster
    await cluster.close()


async def all_are_in_sync(cluster: BrokerCluster) -> None:
    """Wait until every broker knows it."""
    for topic, (replicas, _) in TOPICS.items():
        for server in cluster.servers.values():
            cache = server._cache
            await until(
                lambda cache=cache, topic=topic, replicas=replicas: any(  # type: ignore[misc]
                    sorted(state.isr) == sorted(replicas) for state in cache.partitions(topic)
                ),
                f"{topic} is in sync",
            )


async def asked(cluster: BrokerCluster, broker_id: int) -> tuple[int, dict[str, Any]]:
    (endpoint,) = cluster[broker_id].observability.endpoints
    async with HttpClient(endpoint.port) as client:
        response = await client.get("/safe-to-stop")
        answer: dict[str, Any] = response.json()
        return response.status, answer


async def refused_topics(cluster: BrokerCluster) -> set[str]:
    """Topics that take no record with acks=all, because they lack replicas or a leader."""
    refused = set()
    for topic in TOPICS:
        partition = TopicPartition(topic, 0)
        leader_id = cluster.leader_of(partition)
        if leader_id is None:
            refused.add(topic)
            continue
        error, _ = await cluster.produce(leader_id, partition, b"value")
        assert error in (ErrorCode.NONE, ErrorCode.NOT_ENOUGH_REPLICAS)
        if error:
            refused.add(topic)
    return refused


def named(answer: dict[str, Any]) -> set[str]:
    """The topics in the reasons."""
    return {re.sub(r"-0 would .*", "", reason) for reason in answer["reasons"]}


async def test_broker_is_safe_to_stop_while_its_partitions_have_a_spare_replica_and_they_go_on_without_it(
    cluster: BrokerCluster,
) -> None:
    for broker_id, without_spare in ((1, {"elsewhere"}), (2, {"pair-two", "alone"}), (3, {"pair-two"})):
        status, answer = await asked(cluster, broker_id)
        assert (status, answer["status"], answer["reasons"]) == (200, "safe", [])
        assert answer["partitions_without_spare_replica"] == len(without_spare)

    await cluster.stop(2)

    assert await refused_topics(cluster) == {"pair-two", "alone"}


async def test_broker_is_not_safe_to_stop_while_another_is_down_and_the_named_partitions_then_refuse_records(
    cluster: BrokerCluster,
) -> None:
    await cluster.stop(3)
    alive = cluster[2]._cache
    await until(lambda: not alive.is_alive(3), "broker 2 knows that broker 3 is down")
    await until(
        lambda: all(3 not in state.isr for topic in TOPICS for state in alive.partitions(topic)),
        "broker 2 knows the in-sync replicas",
    )
    assert await refused_topics(cluster) == {"pair-two"}
    status, answer = await asked(cluster, 2)
    assert (status, answer["status"]) == (503, "not safe")
    assert named(answer) == {"three-two", "pair-one"}
    assert answer["partitions"] == 2

    await cluster.start(3)
    await all_are_in_sync(cluster)
    status, answer = await asked(cluster, 2)
    assert (status, answer["reasons"]) == (200, [])

    await cluster.stop(3)
    await cluster.stop(2)
    assert await refused_topics(cluster) == {"three-two", "pair-one", "pair-two", "alone"}
