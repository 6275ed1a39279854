"""Moves of partitions to other brokers: reads and changes them (Kafka 2.4 or newer)."""

from collections.abc import Iterable

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...client.response_error import response_error
from ...protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from ...protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    OngoingPartitionReassignment,
)
from ..topics.found_topics import named_topics

__all__ = ["change_moves", "moves_under_way", "replicas_of"]


def replicas_of(cluster: AdminCluster, topics: Iterable[str]) -> dict[TopicPartition, tuple[int, ...]]:
    """The replicas of all partitions of the topics."""
    return {
        TopicPartition(topic.name or "", each.partition_index): tuple(each.replica_nodes)
        for topic in named_topics(cluster, topics)
        for each in topic.partitions
    }


def moves_under_way(cluster: AdminCluster, timeout_ms: int) -> dict[TopicPartition, OngoingPartitionReassignment]:
    request = ListPartitionReassignmentsRequest(timeout_ms=timeout_ms, topics=None)
    response = cluster.ask_controller(request)
    if response.error_code:
        raise response_error(response, "moves cannot be listed")
    return {
        TopicPartition(topic.name, each.partition_index): each for topic in response.topics for each in topic.partitions
    }


def change_moves(
    cluster: AdminCluster,
    timeout_ms: int,
    wanted: dict[TopicPartition, tuple[int, ...] | None],
    failures: list[Exception],
) -> list[TopicPartition]:
    """Begin moves, or cancel those whose replicas are None. Returns the partitions without an error."""
    topics: dict[str, list[ReassignablePartition]] = {}
    for at, replicas in wanted.items():
        new = ReassignablePartition(partition_index=at.partition, replicas=None if replicas is None else list(replicas))
        topics.setdefault(at.topic, []).append(new)
    if not topics:
        return []
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=timeout_ms,
        topics=[ReassignableTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
    )
    response = cluster.ask_controller(request)
    if response.error_code:
        raise response_error(response, "moves cannot be changed")
    done = []
    for topic in response.responses:
        for result in topic.partitions:
            at = TopicPartition(topic.name, result.partition_index)
            if result.error_code:
                failures.append(response_error(result, at))
            else:
                done.append(at)
    return sorted(done)
