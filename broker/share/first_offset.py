"""Where a share group begins to read a partition (``share.auto.offset.reset``)."""

from asyncio import Future, ensure_future
from collections.abc import Awaitable, Callable
from functools import partial

from ...base.topic_partition import TopicPartition
from ...protocol.errors import ErrorCode, KafkaError
from ...protocol.sentinels import LATEST
from ...replication.leader.offset_lookup import OffsetQuery
from ...replication.partition.isolation import Isolation
from ...replication.partition_set import PartitionSet
from ...storage.segment.record_search import FoundOffset
from .settings import ShareSettings

__all__ = ["first_offset"]

Found = Callable[[int | ErrorCode], None]


def first_offset(
    partitions: PartitionSet,
    clock_ms: Callable[[], int],
    topic_partition: TopicPartition,
    settings: ShareSettings,
    found: Found,
) -> None:
    """Call ``found`` with the offset, or with an error; a duration for which there are no records means the end."""
    timestamp = settings.reset_timestamp
    if settings.resets_ms_ago is not None:
        timestamp = max(clock_ms() - settings.resets_ms_ago, 0)
    query = OffsetQuery(timestamp, Isolation.HIGH_WATERMARK)
    try:
        offset = partitions.list_offset(topic_partition, query)
    except KafkaError as error:
        found(error.code)
        return
    at_the_end = partial(_end_of, partitions, topic_partition)
    if isinstance(offset, Awaitable):
        ensure_future(offset).add_done_callback(partial(_looked_up, found, at_the_end))
    else:
        found(at_the_end() if offset is None else offset.offset)


def _looked_up(found: Found, at_the_end: Callable[[], int | ErrorCode], future: "Future[FoundOffset | None]") -> None:
    if future.cancelled():
        return
    error = future.exception()
    if error is not None:
        found(error.code if isinstance(error, KafkaError) else ErrorCode.UNKNOWN_SERVER_ERROR)
        return
    offset = future.result()
    found(at_the_end() if offset is None else offset.offset)


def _end_of(partitions: PartitionSet, topic_partition: TopicPartition) -> int | ErrorCode:
    try:
        offset = partitions.list_offset(topic_partition, OffsetQuery(LATEST, Isolation.HIGH_WATERMARK))
    except KafkaError as error:
        return error.code
    return offset.offset if isinstance(offset, FoundOffset) else ErrorCode.OFFSET_NOT_AVAILABLE
