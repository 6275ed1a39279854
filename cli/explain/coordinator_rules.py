"""Why a group has no coordinator: the partition of ``__consumer_offsets`` that keeps it has no leader."""

from ...base.coordinator_partition import partition_for_key
from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import KafkaError
from .shapes import Finding, GroupExplanation

__all__ = ["without_coordinator"]


def without_coordinator(cluster: AdminCluster, group: str, error: KafkaError) -> GroupExplanation:
    """The explanation of a group that no broker coordinates now."""
    (topic,) = cluster.metadata([CONSUMER_OFFSETS_TOPIC]).topics
    partitions = {each.partition_index: each for each in topic.partitions}
    culprit, remedies = None, ("look at the brokers' logs",)
    if not partitions:
        text = f"there is no topic {CONSUMER_OFFSETS_TOPIC}, and it could not be made"
        remedies = ("start as many brokers as offsets.topic.replication.factor says, or lower it",)
    else:
        number = partition_for_key(group, len(partitions))
        partition = partitions.get(number)
        replicas = [] if partition is None else list(partition.replica_nodes)
        alive = {broker.node_id for broker in cluster.metadata().brokers}
        away = [str(each) for each in replicas if each not in alive]
        text = f"{CONSUMER_OFFSETS_TOPIC}-{number}, which keeps the group, has no leader that answers"
        if away:
            culprit = f"broker {', '.join(away)}, which {'is' if len(away) == 1 else 'are'} not alive"
            remedies = (f"start broker {', '.join(away)}",)
    return GroupExplanation(
        group=group,
        source="protocol",
        is_healthy=False,
        text=f"has NO COORDINATOR: {error}",
        state=None,
        coordinator=None,
        members=None,
        lag=None,
        lag_seconds=None,
        watched_seconds=0.0,
        findings=(Finding(kind="no_coordinator", is_trouble=True, text=text, culprit=culprit, remedies=remedies),),
    )
