"""Appends records to topics of a cluster outside this process, by Kafka's protocol."""

from collections import defaultdict
from collections.abc import Sequence

from ..base.topic_partition import TopicPartition
from ..broker.library.inspection.appending import in_batches
from ..broker.library.inspection.stored_record import StoredRecord
from ..client.admin_cluster import AdminCluster
from ..client.producing.batch_producer import BatchProducer
from ..client.topic_leaders import wait_for_leaders
from ..protocol.errors import ErrorCode, error_for
from ..protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from ..protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from ..protocol.records.record import Record

__all__ = ["append_outside", "create_as_for_a_producer", "partitions_outside"]

_LIMIT_MS = 30_000


def partitions_outside(cluster: AdminCluster, topic: str, partition: int | None) -> list[TopicPartition]:
    """The partitions of a topic, or one of them. Raises LookupError."""
    found = cluster.partitions([topic])
    if not found:
        raise LookupError(f"there is no topic {topic!r}; topics: {', '.join(cluster.topic_names()) or 'none'}")
    wanted = [at for at in found if partition is None or at.partition == partition]
    if not wanted:
        raise LookupError(f"topic {topic!r} has no partition {partition}; it has {len(found)}")
    return wanted


def create_as_for_a_producer(cluster: AdminCluster, topic: str, partitions: int = 1) -> None:
    """Create a missing topic if the cluster does that for a producer, with ``partitions`` or more."""
    if cluster.partitions([topic]):
        return
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=True)
    if cluster.ask_any(request).topics[0].error_code not in (ErrorCode.NONE, ErrorCode.LEADER_NOT_AVAILABLE):
        return
    wait_for_leaders(cluster, [topic])
    if len(cluster.partitions([topic])) < partitions:
        grown = CreatePartitionsTopic(name=topic, count=partitions, assignments=None)
        (result,) = cluster.ask_controller(CreatePartitionsRequest(topics=[grown], timeout_ms=_LIMIT_MS)).results
        if result.error_code:
            raise error_for(result.error_code, result.error_message)
        wait_for_leaders(cluster, [topic])


def append_outside(cluster: AdminCluster, topic: str, placed: Sequence[tuple[int, Record]]) -> list[StoredRecord]:
    """Append records to their partitions; return them with their offsets, by partition. Raises LookupError."""
    waiting: dict[int, list[Record]] = defaultdict(list)
    for partition, record in placed:
        waiting[partition].append(record)
    for partition in waiting:
        partitions_outside(cluster, topic, partition)
    found: list[StoredRecord] = []

    def written(at: TopicPartition, base: int, count: int) -> None:
        for number, each in enumerate(waiting[at.partition][:count]):
            found.append(StoredRecord(*at, base + number, each.timestamp_ms, each.key, each.value, each.headers))
        del waiting[at.partition][:count]

    producer = BatchProducer(cluster, written)
    for partition in sorted(waiting):
        for batch in in_batches(list(waiting[partition])):
            producer.send_records(TopicPartition(topic, partition), batch)
    producer.flush()
    return sorted(found, key=lambda each: (each.partition, each.offset))
