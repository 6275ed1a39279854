"""The lines of ``kafka-topics --describe``."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ...client.admin_cluster import AdminCluster
from ...protocol.messages.metadata import MetadataResponsePartition, MetadataResponseTopic
from ..configs.found_settings import SOURCES, found_settings
from ..configs.resources import NamedResource, ResourceKind
from ..topics.found_topics import MIN_ISR, topic_id_of

__all__ = ["TopicFilters", "describe"]

_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"


class TopicFilters(NamedTuple):
    """Which lines are wanted; none set: all."""

    under_replicated: bool
    unavailable: bool
    under_min_isr: bool
    at_min_isr: bool
    with_overrides: bool

    @property
    def of_partitions(self) -> bool:
        """Whether lines of partitions are chosen, so that those of topics are left out."""
        return self.under_replicated or self.unavailable or self.under_min_isr or self.at_min_isr


class _Settings(NamedTuple):
    changed: Mapping[str, str]
    min_in_sync: int


def describe(cluster: AdminCluster, topics: Sequence[MetadataResponseTopic], filters: TopicFilters) -> Iterator[str]:
    """A line for each topic and each partition. Raises KafkaError."""
    settings = _settings(cluster, [topic.name or "" for topic in topics]) if topics else {}
    live = {broker.node_id for broker in cluster.metadata().brokers}
    for topic in topics:
        found = settings[topic.name or ""]
        partitions = sorted(topic.partitions, key=lambda each: each.partition_index)
        if not filters.of_partitions and (found.changed or not filters.with_overrides):
            yield _topic_line(topic, partitions, found)
        if filters.with_overrides and not filters.of_partitions:
            continue
        for partition in partitions:
            if not filters.of_partitions or _is_wanted(partition, found.min_in_sync, live, filters):
                yield _partition_line(topic, partition)


def _is_wanted(partition: MetadataResponsePartition, min_in_sync: int, live: set[int], filters: TopicFilters) -> bool:
    in_sync = len(partition.isr_nodes)
    return (
        (filters.under_replicated and in_sync < len(partition.replica_nodes))
        or (filters.unavailable and partition.leader_id not in live)
        or (filters.under_min_isr and in_sync < min_in_sync)
        or (filters.at_min_isr and in_sync == min_in_sync)
    )


def _topic_line(
    topic: MetadataResponseTopic, partitions: Sequence[MetadataResponsePartition], settings: _Settings
) -> str:
    replicas = len(partitions[0].replica_nodes) if partitions else 0
    configs = ",".join(f"{name}={value}" for name, value in settings.changed.items())
    return (
        f"Topic: {topic.name}\tTopicId: {topic_id_of(topic) or _NO_ID}\tPartitionCount: {len(partitions)}\t"
        f"ReplicationFactor: {replicas}\tConfigs: {configs}"
    )


def _partition_line(topic: MetadataResponseTopic, partition: MetadataResponsePartition) -> str:
    leader = "none" if partition.leader_id < 0 else partition.leader_id
    replicas = ",".join(map(str, partition.replica_nodes))
    in_sync = ",".join(map(str, partition.isr_nodes))
    return (
        f"\tTopic: {topic.name}\tPartition: {partition.partition_index}\tLeader: {leader}\tReplicas: {replicas}\t"
        f"Isr: {in_sync}\tElr: N/A\tLastKnownElr: N/A"
    )


def _settings(cluster: AdminCluster, names: Sequence[str]) -> dict[str, _Settings]:
    resources = [NamedResource(ResourceKind.TOPIC, name) for name in names]
    found = {}
    for resource, settings in found_settings(cluster, resources).items():
        changed = {each.name: each.value or "" for each in settings if SOURCES.get(each.config_source) != "default"}
        min_in_sync = next((each.value for each in settings if each.name == MIN_ISR), None)
        found[resource.name] = _Settings(changed, int(min_in_sync or 1))
    return found
