"""The cluster at a glance."""

from functools import cache

from ...config.http_listeners import TEST_KIT
from ...views.cluster import Cluster, TopTopic
from .api_times_view import CONSUMER_FETCH, PRODUCE, times_of
from .directories import directories, disk_of
from .events_view import last_events_by_kind
from .group_watch import GroupsLook
from .known_state import KnownState
from .own_source import source_of
from .partition_health import is_offline, is_under_min_isr, is_under_replicated
from .process_facts import rss_bytes
from .slices import in_slices
from .topics import TopicRows
from .traffic_view import broker_history, broker_rates, topic_history, topic_rates
from .verdict import ClusterFacts, judge_cluster

__all__ = ["describe_cluster", "own_version"]

_TOP_TOPICS = 8
_EVENTS = 10


async def describe_cluster(state: KnownState, groups: GroupsLook) -> Cluster:
    """Return the cluster as this broker knows it now."""
    cache, parts = state.parts.cache, state.parts
    found = await directories(state)
    facts = ClusterFacts(
        broker_id=state.broker_id,
        has_controller=cache.controller_id >= 0,
        has_test_kit=parts.config.boolean(TEST_KIT),
        directories=found,
        groups=groups.problems,
    )
    topics = cache.topics
    partitions = 0
    async for topic in in_slices(topics):
        partitions += _count_topic(state, topic, facts)
    return Cluster(
        source=source_of(state),
        cluster_id=parts.metadata.identity.cluster_id,
        controller_id=cache.controller_id if cache.controller_id >= 0 else None,
        metadata_store="zookeeper" if parts.is_in_cluster else "embedded",
        version=await parts.run_in_pool(own_version),
        verdict=judge_cluster(facts),
        brokers=len(cache.broker_ids),
        topics=len(topics),
        partitions=partitions,
        offline_partitions=facts.offline.count,
        under_replicated_partitions=facts.under_replicated.count,
        under_min_isr_partitions=facts.under_min_isr.count,
        groups=groups.groups,
        worst_group=groups.worst_group,
        max_lag_seconds=groups.max_lag_s,
        rates=broker_rates(state),
        produce_times=times_of(state, PRODUCE),
        fetch_times=times_of(state, CONSUMER_FETCH),
        disk=disk_of(found, state.recent.traffic.growth.bytes_per_s()),
        memory_bytes=await parts.run_in_pool(rss_bytes),
        loop_idle=round(state.requests.loop.loop_idle, 3),
        history=broker_history(state),
        top_topics=_top_topics(state, TopicRows(state, groups.topics)),
        events=last_events_by_kind(state, _EVENTS),
    )


def _count_topic(state: KnownState, topic: str, facts: ClusterFacts) -> int:
    """Count the partitions of a topic in ``facts``; return their number."""
    cache = state.parts.cache
    states = cache.partitions(topic)
    if states:
        min_isr = state.rules_of(topic).min_isr
        for each in states:
            if is_offline(each, cache.is_alive):
                facts.offline.add(topic, each.partition_index)
            if is_under_min_isr(each, min_isr):
                facts.under_min_isr.add(topic, each.partition_index)
            if is_under_replicated(each):
                facts.under_replicated.add(topic, each.partition_index)
    return len(states)


def _top_topics(state: KnownState, rows: TopicRows) -> tuple[TopTopic, ...]:
    found = []
    for topic in state.recent.traffic.topics.busiest(_TOP_TOPICS):
        history, row = topic_history(state, topic), rows.row_of(topic)
        if history is not None and row is not None:
            found.append(TopTopic(topic=topic, rates=topic_rates(state, topic), history=history, row=row))
    return tuple(found)


@cache
def own_version() -> str:
    """Return the version of the installed package; to be called in a worker, because the import is slow."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(__name__.partition(".")[0])
    except PackageNotFoundError:  # a checkout
        return "unknown"
