"""The series of partitions, logs and fetchers say what the partitions of a small cluster are like."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.broker.metrics.log_samples import LogSamples
from pybroker.broker.metrics.partition_samples import PartitionSamples
from pybroker.broker.metrics.registry import Registry
from pybroker.broker.metrics.replication_samples import (
    add_fetch_session_samples,
    add_fetcher_samples,
    add_purgatory_samples,
)
from pybroker.protocol.errors import ErrorCode
from pybroker.replication.partition.isr import PendingIsr
from pybroker.replication.partition.partition import Partition
from support.in_process.replica_cluster import ReplicaBroker, ReplicaCluster
from support.in_process.replicas import NOW_MS, TOPIC, TP, batch_of, fetch_from, follower
from support.in_process.scraping import ScrapedSamples, scraped_samples

OTHER = TopicPartition("other", 7)
LABELS = {"topic": TOPIC, "partition": str(TP.partition)}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Callable[..., ReplicaCluster]]:
    made: list[ReplicaCluster] = []

    def new(**options: object) -> ReplicaCluster:
        made.append(ReplicaCluster(tmp_path, 3, **options))  # type: ignore[arg-type]
        return made[-1]

    yield new
    for each in made:
        each.close()


async def scraped(broker: ReplicaBroker, later_s: float = 0.0) -> ScrapedSamples:
    """Scrape the series of a broker, so many seconds from now."""
    now_s = asyncio.get_running_loop().time() + later_s
    registry = Registry()
    PartitionSamples(registry, broker.partitions, {TOPIC: 5}.get, "the cluster")
    LogSamples(registry, broker.logs, broker.run_in_pool, lambda: NOW_MS, lambda: now_s)
    add_fetcher_samples(registry, broker.fetchers, lambda: now_s)
    add_fetch_session_samples(registry, broker.sessions)
    add_purgatory_samples(registry, broker.partitions.wakeups)
    return await scraped_samples(registry)


async def test_leader_gives_the_series_of_a_partition_and_followers_do_not(
    cluster: Callable[..., ReplicaCluster],
) -> None:
    brokers = cluster()
    await brokers.order(1, 0, isr=(1, 2))
    brokers[1].produce(batch_of(b"a", b"b", b"c"))
    await brokers[2].fetch_from(1, 2)
    leader = await scraped(brokers[1])
    assert leader.value("kafka_cluster_partition_insyncreplicascount", **LABELS) == 2
    assert leader.value("kafka_cluster_partition_replicascount", **LABELS) == 3
    assert leader.value("kafka_cluster_partition_underreplicated", **LABELS) == 1
    assert leader.value("kafka_cluster_partition_underminisr", **LABELS) == 0
    assert leader.value("kafka_cluster_partition_atminisr", **LABELS) == 0
    assert leader.value("kafka_topic_partition_current_offset", **LABELS) == 3
    assert leader.value("kafka_topic_partition_oldest_offset", **LABELS) == 0
    assert leader.value("kafka_topic_partition_in_sync_replica", **LABELS) == 2
    assert leader.value("kafka_topic_partition_leader", **LABELS) == 1
    assert leader.value("kafka_topic_partition_leader_is_preferred", **LABELS) == 1
    assert leader.value("kafka_topic_partition_replicas", **LABELS) == 3
    assert leader.value("kafka_topic_partition_under_replicated_partition", **LABELS) == 1
    assert leader.value("kafka_topic_partitions", topic=TOPIC) == 5
    assert leader.value("kafka_partition_latest_offset", cluster_name="the cluster", **LABELS) == 3
    other = await scraped(brokers[2])
    assert {name for name in other.names if "_partition_" in name} == set()
    for broker, leads in ((leader, 1), (other, 0)):
        assert broker.value("kafka_server_replicamanager_leadercount") == leads
        assert broker.value("kafka_server_replicamanager_underreplicatedpartitions") == leads
        assert broker.value("kafka_server_replicamanager_partitioncount") == 1
        assert broker.value("kafka_log_log_logendoffset", **LABELS) == 3
        assert broker.value("kafka_log_log_numlogsegments", **LABELS) == 1
        assert broker.value("kafka_log_log_size", **LABELS) == len(batch_of(b"a", b"b", b"c"))


async def test_minimum_of_the_isr_decides_who_is_under_it_and_at_it(cluster: Callable[..., ReplicaCluster]) -> None:
    brokers = cluster(topics={TOPIC: {"min.insync.replicas": "3"}, "other": {"min.insync.replicas": "2"}})
    for each in (TP, OTHER):
        await brokers.order(1, 0, isr=(1, 2), topic_partition=each, topic_id=None)
    found = await scraped(brokers[1])
    assert found.value("kafka_server_replicamanager_underminisrpartitioncount") == 1
    assert found.value("kafka_server_replicamanager_atminisrpartitioncount") == 1
    assert found.value("kafka_cluster_partition_underminisr", **LABELS) == 1
    assert found.value("kafka_cluster_partition_atminisr", topic="other", partition="7") == 1


async def test_changes_of_the_isr_are_counted_by_their_outcome(cluster: Callable[..., ReplicaCluster]) -> None:
    proposed: list[tuple[Partition, PendingIsr]] = []
    brokers = cluster(propose_isr=lambda *change: proposed.append(change))
    await brokers.order(1, 0, isr=(1,))
    await brokers[2].fetch_from(1, 2)
    partitions = brokers[1].partitions
    (proposal,) = proposed
    partitions.isr_change_refused(*proposal, ErrorCode.UNKNOWN_SERVER_ERROR)
    partitions.isr_change_accepted(*proposal, (1, 2), 0, 1)
    partitions.isr_change_accepted(*proposal, (1, 2), 0, 1)  # a response that comes twice was overtaken
    found = await scraped(brokers[1])
    assert found.value("kafka_server_replicamanager_isrexpands_total") == 1
    assert found.value("kafka_server_replicamanager_isrshrinks_total") == 0
    assert found.value("kafka_server_replicamanager_failedisrupdates_total") == 2


async def test_lag_of_a_follower_is_known_after_its_fetch(cluster: Callable[..., ReplicaCluster]) -> None:
    brokers = cluster()
    await brokers.order(1, 0)
    before = await scraped(brokers[2])
    assert before.by_labels("kafka_server_fetcherlagmetrics_consumerlag") == {}
    brokers[1].produce(batch_of(b"a"))
    await brokers[2].fetch_from(1, 2)
    found = await scraped(brokers[2], later_s=1)
    lag = {"clientId": "ReplicaFetcherThread-0-1", **LABELS}
    assert found.value("kafka_server_fetcherlagmetrics_consumerlag", **lag) == 0
    assert found.value("kafka_server_replicafetchermanager_maxlag", clientId="Replica") == 0
    assert found.value("kafka_server_replicafetchermanager_failedpartitionscount", clientId="Replica") == 0
    assert found.value("kafka_server_replicafetchermanager_minfetchrate", clientId="Replica") > 0
    assert (await scraped(brokers[1])).value("kafka_server_fetchsessioncache_numincrementalfetchsessions") == 1


async def test_waiting_requests_are_counted_in_their_purgatory(cluster: Callable[..., ReplicaCluster]) -> None:
    brokers = cluster()
    await brokers.order(1, 0)
    brokers[1].produce(batch_of(b"a"), acks=-1)
    brokers[1].fetch(fetch_from(1), params=follower(2, max_wait_ms=60_000))
    found = await scraped(brokers[1])
    name = "kafka_server_delayedoperationpurgatory_purgatorysize"
    assert {next(iter(labels))[1]: value for labels, value in found.by_labels(name).items()} == {
        "Produce": 1,
        "Fetch": 1,
        "DeleteRecords": 0,
    }


async def test_offline_directory_shows_in_the_series_of_directories(cluster: Callable[..., ReplicaCluster]) -> None:
    brokers = cluster()
    await brokers.order(1, 0)
    (directory,) = brokers[1].logs.directories.all
    found = await scraped(brokers[1])
    assert found.value("kafka_log_logmanager_logdirectoryoffline", logDirectory=directory.path) == 0
    assert found.value("pybroker_log_directory_free_bytes", directory=directory.path) > 0
    assert found.value("pybroker_log_directory_size_bytes", directory=directory.path) == 0
    brokers[1].logs.directories.on_last_failure = lambda error: None
    brokers[1].logs.directories.failed(directory, "gone", OSError(5, "I/O error"))
    found = await scraped(brokers[1])
    assert found.value("kafka_log_logmanager_logdirectoryoffline", logDirectory=directory.path) == 1
    assert found.value("kafka_log_logmanager_offlinelogdirectorycount") == 1
    assert found.value("kafka_server_replicamanager_offlinereplicacount") == 1
    assert found.value("kafka_server_replicamanager_partitioncount") == 1
