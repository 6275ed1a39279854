"""Tells where a partition begins and ends: from the replica on this broker, else as its leader last answered."""

from collections.abc import Callable
from typing import Protocol

from ...base.lag_verdicts import UNKNOWN_END
from ...base.topic_partition import TopicPartition
from ...replication.partition.hosted_partition import HostedPartition
from ...replication.partition.partition import Follower
from ...replication.partition_set import PartitionSet
from ...storage.log.log import Log
from .end_ring import EndRing

__all__ = ["OtherLeaders", "PartitionEnd", "PartitionEnds"]


PartitionEnd = tuple[int | None, int, Log | None, EndRing | None]
"""The log start offset, None when the leader was not asked yet; the high watermark; the log or the ring of ends, which
tells the age of an offset."""


class OtherLeaders(Protocol):
    """The partitions without a replica on this broker."""

    def end_of(self, topic_partition: TopicPartition) -> PartitionEnd | None:
        """The end by the leader's last response, or None before the first. Asks the leader at intervals from now on."""
        ...

    def known_end(self, topic_partition: TopicPartition) -> int | None:
        """The end by the leader's last response, without a new request."""
        ...


class PartitionEnds:
    """``isr_of``: the in-sync replicas of a partition. ``others``: None when there is no other broker."""

    def __init__(
        self,
        partitions: PartitionSet,
        isr_of: Callable[[TopicPartition], list[int]],
        others: OtherLeaders | None = None,
    ) -> None:
        self._partitions = partitions
        self._isr_of = isr_of
        self._others = others

    def of(self, topic_partition: TopicPartition) -> PartitionEnd | None:
        """None when it is unknown: the partition does not exist, or its leader was not reached yet."""
        hosted = self._partitions.get(topic_partition)
        if hosted is not None and self._is_current(hosted):
            log = hosted.log
            return log.view.log_start_offset, hosted.partition.high_watermark, log, None
        return None if self._others is None else self._others.end_of(topic_partition)

    def known_end(self, topic_partition: TopicPartition) -> int:
        """The high watermark, `UNKNOWN_END` when it is unknown. For each commit, so it asks no other broker."""
        hosted = self._partitions.get(topic_partition)
        if hosted is not None and self._is_current(hosted):
            return hosted.partition.high_watermark
        known = None if self._others is None else self._others.known_end(topic_partition)
        return UNKNOWN_END if known is None else known

    def _is_current(self, hosted: HostedPartition) -> bool:
        """Whether the replica here leads, or follows in sync."""
        partition = hosted.partition
        if partition.leader is not None:
            return True
        return isinstance(partition.role, Follower) and partition.local_broker_id in self._isr_of(
            hosted.topic_partition
        )
