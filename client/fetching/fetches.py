"""Fetch requests, and the batches in their responses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from ...base.frozen import frozen
from ...base.topic_partition import TopicPartition
from ...protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from ...protocol.records.batch import RecordBatch, iter_batches
from ..client_settings import READ_UNCOMMITTED

MAX_PLAIN_BYTES = 256 << 20
"""A batch may decompress to so much: a record of 100 MB must fit."""


@frozen
class Fetched:
    """A partition's part of a response. `aborted`: first offset and producer id of each aborted transaction in it."""

    at: TopicPartition
    error_code: int
    high_watermark: int
    last_stable_offset: int
    log_start: int
    aborted: tuple[tuple[int, int], ...]
    records: Any

    def batches(self) -> list[RecordBatch]:
        """The whole batches. Raises CorruptRecordError."""
        return [] if self.records is None else list(iter_batches(self.records))


def fetch_request(
    positions: Mapping[TopicPartition, int],
    *,
    partition_bytes: int,
    max_bytes: int,
    wait_ms: int = 0,
    isolation_level: int = READ_UNCOMMITTED,
) -> FetchRequest:
    """Asks for records from these offsets on. A batch larger than the limits comes alone, and whole."""
    topics: dict[str, list[FetchPartition]] = defaultdict(list)
    for at, offset in positions.items():
        topics[at.topic].append(
            FetchPartition(partition=at.partition, fetch_offset=offset, partition_max_bytes=partition_bytes)
        )
    return FetchRequest(
        max_wait_ms=wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        isolation_level=isolation_level,
        topics=[FetchTopic(topic=topic, partitions=partitions) for topic, partitions in topics.items()],
    )


def fetched_in(response: Any) -> list[Fetched]:
    """The partitions in a response."""
    return [
        Fetched(
            TopicPartition(topic.topic, partition.partition_index),
            partition.error_code,
            partition.high_watermark,
            partition.last_stable_offset,
            partition.log_start_offset,
            tuple((each.first_offset, each.producer_id) for each in partition.aborted_transactions or ()),
            partition.records,
        )
        for topic in response.responses
        for partition in topic.partitions
    ]
