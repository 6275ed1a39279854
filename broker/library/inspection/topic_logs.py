"""Reads topics from the logs of a running broker, without a consumer."""

from functools import partial

from ....base.topic_partition import TopicPartition
from ....client.fetching.transaction_filter import TransactionFilter
from ....protocol.records.batch import iter_batches
from ....protocol.records.record import read_records
from ....replication.partition.hosted_partition import HostedPartition
from ....replication.partition.isolation import Isolation
from ....storage.log.log import Log
from ...apis.broker_parts import BrokerParts
from .stored_record import StoredRecord

__all__ = ["ends_text", "has_leaders", "partitions_of", "read_topic", "readable_end"]

_READ_BYTES = 1 << 20
_MOST_SHOWN = 20


def has_leaders(parts: BrokerParts, topic: str) -> bool:
    """Whether the topic exists and this broker leads all its partitions."""
    count = parts.cache.partition_count(topic)
    return bool(count) and all(parts.partitions.is_leader(TopicPartition(topic, index)) for index in range(count or 0))


def partitions_of(parts: BrokerParts, topic: str, partition: int | None = None) -> list[HostedPartition]:
    """Return the partitions of a topic, or one of them. Raises LookupError when a partition is not here."""
    count = parts.cache.partition_count(topic)
    if count is None:
        known = ", ".join(sorted(parts.cache.topics)[:_MOST_SHOWN]) or "none"
        raise LookupError(f"there is no topic {topic!r}; topics: {known}")
    if partition is not None and not 0 <= partition < count:
        raise LookupError(f"topic {topic!r} has no partition {partition}; it has {count}")
    found = []
    for index in range(count) if partition is None else (partition,):
        hosted = parts.partitions.get(TopicPartition(topic, index))
        if hosted is None or hosted.partition.leader is None:
            raise LookupError(f"this broker does not lead partition {index} of topic {topic!r}")
        found.append(hosted)
    return found


def readable_end(hosted: HostedPartition, *, committed_only: bool) -> int:
    """Return the offset up to which a consumer can read."""
    isolation = Isolation.COMMITTED if committed_only else Isolation.HIGH_WATERMARK
    return hosted.partition.readable_end(isolation)


async def read_topic(
    parts: BrokerParts, topic: str, partition: int | None = None, *, committed_only: bool
) -> list[StoredRecord]:
    """Return the records that a consumer can read, by partition and offset. Raises LookupError and KafkaError."""
    found: list[StoredRecord] = []
    for hosted in partitions_of(parts, topic, partition):
        end = readable_end(hosted, committed_only=committed_only)
        aborted = await parts.run_in_pool(partial(_aborted, hosted.log, end)) if committed_only else []
        hidden = TransactionFilter(aborted)
        async for data in parts.partitions.read_all(hosted.topic_partition, _READ_BYTES):
            records, is_over = await parts.run_in_pool(partial(_decoded, hosted.topic_partition, data, end, hidden))
            found += records
            if is_over:
                break
    return found


def _aborted(log: Log, end: int) -> list[tuple[int, int]]:
    found = log.aborted_transactions(log.log_start_offset, end)
    return [(each.first_offset, each.producer_id) for each in found]


def _decoded(
    at: TopicPartition, data: memoryview, end: int, hidden: TransactionFilter
) -> tuple[list[StoredRecord], bool]:
    """Return the records of whole batches, and whether ``end`` was reached. Runs in a worker."""
    found: list[StoredRecord] = []
    for batch in iter_batches(data):
        if batch.base_offset >= end:
            return found, True
        if hidden.hides(batch) or batch.is_control:
            continue
        found += [
            StoredRecord(at.topic, at.partition, each.offset, each.timestamp_ms, each.key, each.value, each.headers)
            for each in read_records(batch)
            if each.offset < end
        ]
    return found, False


def ends_text(parts: BrokerParts, topic: str) -> str:
    """Return the offsets of the topic's partitions in words, for an error."""
    if not parts.cache.has_topic(topic):
        return "there is no such topic"
    ends = []
    for index in range(parts.cache.partition_count(topic) or 0):
        hosted = parts.partitions.get(TopicPartition(topic, index))
        place = "not led here" if hosted is None else f"{hosted.log.log_start_offset} to {hosted.log.log_end_offset}"
        ends.append(f"partition {index}: {place}")
    more = f", and {len(ends) - _MOST_SHOWN} more" if len(ends) > _MOST_SHOWN else ""
    return f"offsets of {', '.join(ends[:_MOST_SHOWN])}{more}"
