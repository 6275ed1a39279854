"""Deletes the oldest records of a partition on request (DeleteRecords, KIP-107).

The leader's log start offset moves at once. The records are gone when the log start offset of every live replica has
followed; followers learn it with their next fetches. The next round of retention deletes the segments before it.
"""

import asyncio
from functools import partial
from typing import NamedTuple

from ..base.kafka_names import INTERNAL_TOPICS
from ..base.topic_partition import TopicPartition
from ..protocol.errors import (
    ErrorCode,
    InvalidTopicError,
    NotLeaderOrFollowerError,
    OffsetOutOfRangeError,
    PolicyViolationError,
)
from ..storage.log.log import Log
from .partition.hosted_partition import HostedPartition
from .partition_set import PartitionSet

__all__ = ["HIGH_WATERMARK", "NO_LOW_WATERMARK", "Deleted", "RecordDeletion"]

HIGH_WATERMARK = -1
"""Stands for the high watermark: delete everything that is committed."""
NO_LOW_WATERMARK = -1


class Deleted(NamedTuple):
    """``low_watermark``: the lowest log start offset of the live replicas. With REQUEST_TIMED_OUT it has not arrived
    yet, but will."""

    error: ErrorCode
    low_watermark: int


class RecordDeletion:
    """Kafka's ReplicaManager.deleteRecords."""

    def __init__(self, partitions: PartitionSet) -> None:
        self._partitions = partitions

    async def delete(
        self, topic_partition: TopicPartition, offset: int, timeout_ms: int, *, allow_internal: bool = False
    ) -> Deleted:
        """Delete the records before ``offset``, and wait at most ``timeout_ms`` for the other replicas.

        Raises what `PartitionSet.require` raises, and InvalidTopicError for internal topics unless they are allowed,
        NotLeaderOrFollowerError, PolicyViolationError when the topic's ``cleanup.policy`` has no ``delete``,
        OffsetOutOfRangeError.
        """
        hosted = self._partitions.require(topic_partition)
        if topic_partition.topic in INTERNAL_TOPICS and not allow_internal:
            raise InvalidTopicError(f"Cannot delete records of internal topic {topic_partition.topic}")
        target = _target(hosted, offset)
        await hosted.run(partial(_move_log_start, offset=target))
        return await self._replicated(hosted, target, timeout_ms)

    async def _replicated(self, hosted: HostedPartition, target: int, timeout_ms: int) -> Deleted:
        """Wait until the low watermark has reached ``target``, the time is up or the leadership is lost."""
        partition = hosted.partition
        if partition.leader is None:  # the leadership was lost while the log was busy
            raise NotLeaderOrFollowerError()
        if partition.low_watermark() >= target:
            return Deleted(ErrorCode.NONE, partition.low_watermark())
        verdict: asyncio.Future[ErrorCode] = asyncio.get_running_loop().create_future()
        self._partitions.wakeups.deletions.park(hosted.waiting_deletions, target, timeout_ms, partial(_settle, verdict))
        error = await verdict
        if error is ErrorCode.NONE:
            # The target was reached. A replica that came back since and has not fetched yet is not waited for.
            return Deleted(error, max(target, partition.low_watermark()))
        if error is ErrorCode.REQUEST_TIMED_OUT:
            return Deleted(error, partition.low_watermark())
        return Deleted(error, NO_LOW_WATERMARK)


def _target(hosted: HostedPartition, offset: int) -> int:
    partition = hosted.partition
    if partition.leader is None:
        raise NotLeaderOrFollowerError()
    if not hosted.log_config.delete:
        raise PolicyViolationError(
            f"Records of partition {hosted.topic_partition} can not be deleted: its cleanup.policy is not to delete"
        )
    target = partition.high_watermark if offset == HIGH_WATERMARK else offset
    if not 0 <= target <= partition.high_watermark:
        raise OffsetOutOfRangeError(
            f"The log start offset of {hosted.topic_partition} cannot be {target}:"
            f" the high watermark is {partition.high_watermark}"
        )
    return target


def _move_log_start(log: Log, offset: int) -> None:
    """On the strand. The high watermark never falls on a leader; a follower's log may have been cut meanwhile."""
    if offset > log.log_end_offset:
        raise NotLeaderOrFollowerError(f"{log.topic_partition}: the log was truncated before offset {offset}")
    log.increment_log_start_offset(offset)


def _settle(verdict: "asyncio.Future[ErrorCode]", error: ErrorCode) -> None:
    if not verdict.done():  # the caller may have been cancelled
        verdict.set_result(error)
