"""When the oldest unread record of a partition was written: the record at the committed offset is read."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Any, NamedTuple

from ...base.topic_partition import TopicPartition
from ...client.admin_cluster import AdminCluster
from ...protocol.codec import Message
from ...protocol.errors import KafkaError

__all__ = ["unread_since_ms"]

_REQUESTS_UNDER_WAY = 8
_BATCHES_TO_TRY = 8
"""At most so many batches without a record, such as markers of transactions, are passed over."""


class _Found(NamedTuple):
    """``written_ms``: None when there was no record; then ``next_offset`` is where to read on, or None."""

    written_ms: int | None
    next_offset: int | None


def unread_since_ms(
    cluster: AdminCluster, leaders: Mapping[TopicPartition, int], offsets: Mapping[TopicPartition, int]
) -> dict[TopicPartition, int]:
    """The timestamp of the first record at or after each offset. Partitions where it is unknown are left out."""
    found: dict[TopicPartition, int] = {}
    pending = dict(offsets)
    for _ in range(_BATCHES_TO_TRY):
        by_leader: dict[int, dict[TopicPartition, int]] = defaultdict(dict)
        for at, offset in pending.items():
            by_leader[leaders[at]][at] = offset
        pending = {}
        for leader, asked in by_leader.items():
            for at, each in _read(cluster, leader, asked).items():
                if each.written_ms is not None:
                    found[at] = each.written_ms
                elif each.next_offset is not None:
                    pending[at] = each.next_offset
    return found


def _read(cluster: AdminCluster, leader: int, offsets: Mapping[TopicPartition, int]) -> dict[TopicPartition, _Found]:
    """Ask for the batch at each offset. One request a partition: only the first of a request gets a large batch."""
    found: dict[TopicPartition, _Found] = {}
    places = list(offsets.items())
    try:
        connection = cluster.connection_to(leader)
        for start in range(0, len(places), _REQUESTS_UNDER_WAY):
            some = places[start : start + _REQUESTS_UNDER_WAY]
            for at, offset in some:
                connection.send(_request(at, offset))
            for at, offset in some:
                found[at] = _first_record(connection.receive(), offset)
    except OSError:  # the broker is away: the times stay unknown
        pass
    return found


def _request(at: TopicPartition, offset: int) -> Message:
    from ...protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic

    partition = FetchPartition(partition=at.partition, fetch_offset=offset, partition_max_bytes=1)
    topics = [FetchTopic(topic=at.topic, partitions=[partition])]
    return FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1, topics=topics)


def _first_record(answer: Any, offset: int) -> _Found:
    from ...protocol.records.batch import iter_batches
    from ...protocol.records.record import read_records

    partitions = [each for topic in answer.responses for each in topic.partitions]
    if not partitions or partitions[0].error_code or not partitions[0].records:
        return _Found(None, None)
    next_offset = None
    try:
        for batch in iter_batches(partitions[0].records):
            if batch.last_offset < offset:
                continue
            next_offset = batch.next_offset
            if batch.is_control:
                continue
            for record in read_records(batch):
                if record.offset >= offset:
                    return _Found(record.timestamp_ms, None) if record.timestamp_ms >= 0 else _Found(None, None)
    except KafkaError:  # a broken batch, or a codec that is not there
        return _Found(None, None)
    return _Found(None, next_offset)
