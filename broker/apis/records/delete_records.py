"""DeleteRecords: deletes the records before an offset (KIP-107); −1 stands for the high watermark.

v1 throttling happens after the response (KIP-219) · v2 flexible.
"""

import asyncio
from collections.abc import Callable

from ....base.acls import AclOperation, AclResourceType
from ....base.topic_partition import TopicPartition
from ....base.yielding import with_yields
from ....protocol.errors import ErrorCode, KafkaError
from ....protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from ....replication.record_deletion import NO_LOW_WATERMARK, Deleted, RecordDeletion
from ...requests.context import RequestContext
from ...requests.denial import TOPIC_DENIED
from ...requests.partitions_by_topic import partitions_by_topic

__all__ = ["DeleteRecords"]


class DeleteRecords:
    """The handler. ``is_here`` tells whether this broker has a partition."""

    def __init__(self, deletion: RecordDeletion, is_here: Callable[[TopicPartition], bool]) -> None:
        self._deletion = deletion
        self._is_here = is_here

    async def __call__(self, context: RequestContext, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
        """When a request names a partition twice, the last offset counts."""
        offsets = {
            TopicPartition(topic.name, partition.partition_index): partition.offset
            for topic in request.topics
            for partition in topic.partitions
        }
        denied = context.denied(AclOperation.DELETE, AclResourceType.TOPIC, (topic.name for topic in request.topics))
        here = [partition for partition in offsets if partition.topic not in denied and self._is_here(partition)]
        deletions = (self._delete(partition, offsets[partition], request.timeout_ms) for partition in here)
        deleted = dict(zip(here, await asyncio.gather(*deletions), strict=True))
        results = {}
        async for partition, offset in with_yields(offsets.items()):
            if partition.topic in denied:
                deleted[partition] = Deleted(TOPIC_DENIED, NO_LOW_WATERMARK)
            elif partition not in deleted:  # refused at once: no task for each name that a client makes up
                deleted[partition] = await self._delete(partition, offset, request.timeout_ms)
            results[partition] = deleted[partition]
        return DeleteRecordsResponse(
            topics=[
                DeleteRecordsTopicResult(
                    name=topic,
                    partitions=[
                        DeleteRecordsPartitionResult(
                            partition_index=index, low_watermark=deleted.low_watermark, error_code=deleted.error
                        )
                        for index, deleted in partitions
                    ],
                )
                for topic, partitions in partitions_by_topic(results).items()
            ]
        )

    async def _delete(self, topic_partition: TopicPartition, offset: int, timeout_ms: int) -> Deleted:
        try:
            return await self._deletion.delete(topic_partition, offset, timeout_ms)
        except KafkaError as error:
            return Deleted(ErrorCode(error.code), NO_LOW_WATERMARK)
