"""Wakes a coroutine when the high watermark of a watched partition moves.

**How.** An entry is parked beside the produce requests with acks=all, which the broker completes when the high
watermark rises. So nothing is added to an append when nobody waits. Every change of a group's offsets and every new
assignment is a record in ``__consumer_offsets``, so a wait for a group watches the partition of the group.
"""

import asyncio
from functools import partial
from typing import Self

from ....base.topic_partition import TopicPartition
from ....protocol.errors import ErrorCode
from ....replication.partition.hosted_partition import HostedPartition
from ....replication.partition.purgatory import DelayedAppend
from ....replication.partition_set import PartitionSet

__all__ = ["HighWatermarks"]


class HighWatermarks:
    """Used on the broker's loop, in a ``with``. ``limit_s``: the longest time for which an entry stays parked."""

    def __init__(self, partitions: PartitionSet, limit_s: float) -> None:
        self._partitions = partitions
        self._limit_ms = int(limit_s * 1000) + 1
        self._moved = asyncio.Event()
        self._parked: dict[TopicPartition, DelayedAppend] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for entry in self._parked.values():
            self._partitions.wakeups.appends.withdraw(entry)
        self._parked.clear()

    def watch(self, hosted: HostedPartition) -> None:
        """Watch a partition from now on, until its high watermark moves once. Watching it twice changes nothing."""
        topic_partition = hosted.topic_partition
        if topic_partition not in self._parked:
            self._parked[topic_partition] = self._partitions.wakeups.appends.park(
                hosted.waiting_appends,
                hosted.partition.high_watermark + 1,
                self._limit_ms,
                partial(self._wake, topic_partition),
            )

    async def moved(self) -> None:
        """Wait until a watched partition has moved since the last call; an end of its leadership counts too."""
        await self._moved.wait()
        self._moved.clear()
        # The append that moved the high watermark completes in the same turn of the loop, behind this task: offsets
        # and assignments are in force one turn later.
        await asyncio.sleep(0)

    def _wake(self, topic_partition: TopicPartition, _code: ErrorCode) -> None:
        del self._parked[topic_partition]
        self._moved.set()
