"""Topics of the cluster, as its metadata has them."""

from collections.abc import Iterable

from ...base.command_parser import CommandError
from ...base.topic_partition import TopicPartition
from ...base.uuid_text import uuid_text
from ...client.admin_cluster import AdminCluster
from ...protocol.errors import ErrorCode, error_for
from ...protocol.messages.metadata import MetadataResponseTopic
from ..exit_codes import NOT_THERE
from ..reading.partitions import topic_part
from ..suggestions import did_you_mean
from .shapes import Partition, Topic

__all__ = [
    "EARLIEST",
    "LATEST",
    "MIN_ISR",
    "named_topics",
    "partitions_named",
    "partitions_of",
    "topic_id_of",
    "topic_of",
]

LATEST, EARLIEST = -1, -2
"""Questions to `AdminCluster.offsets`."""
MIN_ISR = "min.insync.replicas"
_NO_ID = bytes(16)


def named_topics(cluster: AdminCluster, names: Iterable[str]) -> list[MetadataResponseTopic]:
    """These topics, in their order. Raises CommandError for one that does not exist, with a suggestion."""
    wanted = list(dict.fromkeys(names))
    found = {topic.name: topic for topic in cluster.metadata(wanted).topics}
    for name in wanted:
        code = found[name].error_code
        if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            known = [topic.name or "" for topic in cluster.metadata(None).topics]
            raise CommandError(f"topic {name} does not exist{did_you_mean(name, known)}", NOT_THERE)
        if code and code != ErrorCode.LEADER_NOT_AVAILABLE:
            raise error_for(code, f"topic {name}: {error_for(code)}")
    return [found[name] for name in wanted]


def partitions_named(cluster: AdminCluster, texts: Iterable[str]) -> list[TopicPartition]:
    """The partitions that texts such as ``orders`` and ``orders:0-3`` name, sorted. Raises CommandError."""
    parts = [topic_part(text) for text in texts]
    there: dict[str, set[int]] = {
        topic.name or "": {each.partition_index for each in topic.partitions}
        for topic in named_topics(cluster, [part.topic for part in parts])
    }
    found: set[TopicPartition] = set()
    for topic, partitions in parts:
        wanted = there[topic] if partitions is None else partitions
        if missing := wanted - there[topic]:
            known = f"its partitions are 0 to {len(there[topic]) - 1}"
            raise CommandError(f"topic {topic} has no partition {min(missing)}; {known}", NOT_THERE)
        found.update(TopicPartition(topic, partition) for partition in wanted)
    return sorted(found)


def topic_of(topic: MetadataResponseTopic) -> Topic:
    """The row of a topic."""
    partitions = topic.partitions
    return Topic(
        topic=topic.name or "",
        is_internal=topic.is_internal,
        partitions=len(partitions),
        replication_factor=max((len(each.replica_nodes) for each in partitions), default=0),
        offline_partitions=sum(each.leader_id < 0 for each in partitions),
        under_replicated_partitions=sum(len(each.isr_nodes) < len(each.replica_nodes) for each in partitions),
    )


def partitions_of(topic: MetadataResponseTopic) -> tuple[Partition, ...]:
    """The partitions of a topic, in their order."""
    return tuple(
        Partition(
            partition=each.partition_index,
            leader=None if each.leader_id < 0 else each.leader_id,
            leader_epoch=None if each.leader_epoch < 0 else each.leader_epoch,
            replicas=tuple(each.replica_nodes),
            isr=tuple(each.isr_nodes),
            offline_replicas=tuple(each.offline_replicas),
        )
        for each in sorted(topic.partitions, key=lambda each: each.partition_index)
    )


def topic_id_of(topic: MetadataResponseTopic) -> str | None:
    """The topic id in base64 for URLs without padding, as Kafka writes it; None without one."""
    if topic.topic_id.bytes == _NO_ID:
        return None
    return uuid_text(topic.topic_id)
