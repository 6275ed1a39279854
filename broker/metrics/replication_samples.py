"""Samples of replica fetchers, purgatories and fetch sessions."""

from collections.abc import Callable, Iterator

from ...replication.follower.fetcher_pool import ReplicaFetchers
from ...replication.leader.fetch_session import FetchSessions
from ...replication.partition.wakeups import Wakeups
from .labels import labels
from .registry import Registry, Sample
from .series.table import series_named

__all__ = ["add_fetch_session_samples", "add_fetcher_samples", "add_purgatory_samples"]

_CLIENT = labels(clientId="Replica")


def add_purgatory_samples(registry: Registry, wakeups: Wakeups) -> None:
    def samples() -> Iterator[Sample]:
        yield labels(delayedOperation="Produce"), len(wakeups.appends)
        yield labels(delayedOperation="Fetch"), len(wakeups.fetches)
        yield labels(delayedOperation="DeleteRecords"), len(wakeups.deletions)

    # A completed request leaves at once, so that both of Kafka's numbers are the same.
    registry.add(series_named("kafka_server_delayedoperationpurgatory_purgatorysize"), samples)
    registry.add(series_named("kafka_server_delayedoperationpurgatory_numdelayedoperations"), samples)


def add_fetch_session_samples(registry: Registry, sessions: FetchSessions) -> None:
    registry.add_value(
        series_named("kafka_server_fetchsessioncache_numincrementalfetchsessions"), lambda: len(sessions)
    )
    registry.add_value(
        series_named("kafka_server_fetchsessioncache_numincrementalfetchpartitionscached"),
        lambda: sessions.partition_count,
    )
    registry.add_value(
        series_named("kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total"),
        lambda: sessions.evictions,
    )


def add_fetcher_samples(registry: Registry, fetchers: ReplicaFetchers | None, now_s: Callable[[], float]) -> None:
    """``fetchers``: None on a broker without a cluster, which has no fetchers and gives zeros."""
    if fetchers is None:
        for name in _OF_FETCHERS:
            registry.add(series_named(name), lambda: [(_CLIENT, 0)])
        registry.add(series_named("kafka_server_fetcherlagmetrics_consumerlag"), list)
        return

    def lags() -> Iterator[Sample | None]:
        for fetcher_id, (topic, partition), lag in fetchers.lags():
            if lag is None:
                yield None
            else:
                client = f"ReplicaFetcherThread-{fetcher_id.number}-{fetcher_id.leader_id}"  # Kafka's name
                yield labels(clientId=client, topic=topic, partition=partition), lag

    def max_lag() -> Iterator[Sample | None]:
        longest = 0
        for _, _, lag in fetchers.lags():
            longest = max(longest, lag or 0)
            yield None
        yield _CLIENT, longest

    registry.add(series_named("kafka_server_fetcherlagmetrics_consumerlag"), lags)
    registry.add(series_named("kafka_server_replicafetchermanager_maxlag"), max_lag)
    registry.add(
        series_named("kafka_server_replicafetchermanager_failedpartitionscount"),
        lambda: [(_CLIENT, len(fetchers.failed))],
    )
    registry.add(
        series_named("kafka_server_replicafetchermanager_minfetchrate"),
        lambda: [(_CLIENT, fetchers.min_fetch_rate(now_s()))],
    )


_OF_FETCHERS = (
    "kafka_server_replicafetchermanager_maxlag",
    "kafka_server_replicafetchermanager_failedpartitionscount",
    "kafka_server_replicafetchermanager_minfetchrate",
)
