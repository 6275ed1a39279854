"""A follower with a slow disk: what the metrics, and the slow requests that waited for it, tell."""

import asyncio
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import ErrorCode
from support.clients.http_client import HttpClient
from support.in_process.broker_cluster import BrokerCluster, until
from support.in_process.scraping import ScrapedSamples, samples_in
from support.logs.held_files import FilesHeldAtWriting

PARTITION = TopicPartition("orders", 0)
LABELS = {"topic": "orders", "partition": "0"}
LARGE = b"x" * 700_000
"""A follower gets one such record in a fetch response, and writes it in a worker."""
LAG_MAX_MS = 1500


class SlowCluster(BrokerCluster):
    """Broker 1 leads the partition; ``disk`` is the disk of the follower 3."""

    disk: FilesHeldAtWriting

    async def begin(self, **settings: str) -> None:
        self.disk = FilesHeldAtWriting(str(PARTITION))
        self.files[3] = self.disk
        await self.start(1, 2, 3, **settings)
        await self.create_topic(PARTITION.topic, [1, 2, 3])
        await until(lambda: self.leader_of(PARTITION) == 1, "broker 1 leads")
        assert await self.produce(1, PARTITION, b"first") == (ErrorCode.NONE, 0)
        await until(lambda: self.isr_of(PARTITION) == {1, 2, 3}, "all replicas are in sync")

    async def close(self) -> None:
        self.disk.release()
        await super().close()

    async def scraped(self, broker_id: int) -> ScrapedSamples:
        (endpoint,) = self[broker_id].observability.endpoints
        async with HttpClient(endpoint.port) as client:
            return ScrapedSamples(samples_in((await client.get("/metrics")).body.decode()))

    def slowest_produce(self) -> str:
        """For what the produce request waited that took longest."""
        watch = self[1].observability.requests
        assert watch is not None
        produced = [each for each in watch.slow.newest_first() if each.api == "Produce"]
        return max(produced, key=lambda each: each.total_ms).waited_for or ""


@pytest.fixture
async def cluster(tmp_path: Path) -> AsyncIterator[SlowCluster]:
    settings = {"pybroker.http.listeners": "HTTP://127.0.0.1:0", "pybroker.slow.request.ms": "1"}
    cluster = SlowCluster(tmp_path, settings)
    yield cluster
    await cluster.close()


async def test_slow_request_names_the_follower_that_copied_the_records_last(cluster: SlowCluster) -> None:
    await cluster.begin()
    cluster.disk.hold()
    producing = asyncio.create_task(cluster.produce(1, PARTITION, LARGE))
    await until(lambda: cluster.disk.waiting, "the follower writes")
    await until(lambda: cluster.offsets(2, PARTITION)[1] == 2, "the other follower has the record")
    assert not producing.done()

    cluster.disk.release()

    assert await producing == (ErrorCode.NONE, 1)
    await until(lambda: "follower" in cluster.slowest_produce(), "the slow request is noted")
    assert re.fullmatch(
        r"remote [\d,]+ ms: follower 3 of orders-0 was the last one to copy the records", cluster.slowest_produce()
    )


async def test_slow_request_names_the_follower_that_left_the_isr_and_metrics_tell_its_lag(cluster: SlowCluster) -> None:
    await cluster.begin(replica_lag_time_max_ms=str(LAG_MAX_MS))
    cluster.disk.hold()

    assert await cluster.produce(1, PARTITION, LARGE) == (ErrorCode.NONE, 1)

    await until(lambda: "follower" in cluster.slowest_produce(), "the slow request is noted")
    assert re.fullmatch(
        r"remote [\d,]+ ms: follower 3 of orders-0, which then left the in-sync replicas", cluster.slowest_produce()
    )
    leader = await cluster.scraped(1)
    assert leader.value("kafka_server_replicamanager_underreplicatedpartitions") == 1
    assert leader.value("kafka_cluster_partition_underreplicated", **LABELS) == 1
    assert leader.value("kafka_cluster_partition_insyncreplicascount", **LABELS) == 2
    assert leader.value("kafka_topic_partition_under_replicated_partition", **LABELS) == 1
    assert leader.value("kafka_topic_partition_in_sync_replica", **LABELS) == 2
    assert leader.value("kafka_server_replicamanager_isrshrinks_total") >= 1

    for offset in range(2, 5):
        assert await cluster.produce(1, PARTITION, LARGE) == (ErrorCode.NONE, offset)
    cluster.disk.let_pass(2)
    await until(lambda: cluster.offsets(3, PARTITION)[1] == 3, "the follower has written two records more")
    await until(lambda: cluster.disk.waiting, "the follower writes the next one")
    follower = await cluster.scraped(3)
    fetcher = {"clientId": "ReplicaFetcherThread-0-1", **LABELS}
    assert follower.value("kafka_server_fetcherlagmetrics_consumerlag", **fetcher) == 2
    assert follower.value("kafka_server_replicafetchermanager_maxlag", clientId="Replica") == 2
    assert (await cluster.scraped(2)).value("kafka_server_replicafetchermanager_maxlag", clientId="Replica") == 0

    cluster.disk.release()
    await until(lambda: cluster.isr_of(PARTITION) == {1, 2, 3}, "all replicas are in sync again")
    leader = await cluster.scraped(1)
    assert leader.value("kafka_server_replicamanager_underreplicatedpartitions") == 0
    assert leader.value("kafka_cluster_partition_insyncreplicascount", **LABELS) == 3
    assert leader.value("kafka_server_replicamanager_isrexpands_total") >= 1
    follower = await cluster.scraped(3)
    assert follower.value("kafka_server_fetcherlagmetrics_consumerlag", **fetcher) == 0
