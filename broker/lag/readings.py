"""Where partitions begin and end, read once for all the groups whose lag is computed at about the same time."""

from collections.abc import Mapping

from ...base.topic_partition import TopicPartition
from ...storage.log.log import Log
from .end_ring import EndRing
from .partition_ends import PartitionEnds
from .unread_times import UnreadTimes

__all__ = ["Reading", "Readings"]

_MOST_KEPT = 1_000
"""To free so many at once takes some tenths of a millisecond."""

Reading = tuple[int | None, int, Log | None, EndRing | None, Mapping[int, int]]
"""A `PartitionEnd`, and the times that are known by offset (`UnreadTimes.known`)."""


class Readings(dict[TopicPartition, Reading | None]):
    """Each partition is read when it is first wanted. None when its end is unknown."""

    def __init__(self, ends: PartitionEnds, times: UnreadTimes) -> None:
        super().__init__()
        self._end_of = ends.of
        self._known = times.known

    def __missing__(self, topic_partition: TopicPartition) -> Reading | None:
        end = self._end_of(topic_partition)
        reading: Reading | None = None
        if end is not None:
            log = end[2]
            reading = (*end, {} if log is None else self._known(topic_partition, log))
        if len(self) >= _MOST_KEPT:
            self.clear()
        self[topic_partition] = reading
        return reading
