"""The number of partitions of an internal topic by which its coordinators find entries.

**Why.** When the topic grows, entries would move to other partitions without their records. As in Kafka, a coordinator
goes on with the number that it began with, until the broker restarts.
"""

from typing import NamedTuple
from uuid import UUID

from ..metadata.metadata_cache import MetadataCache

__all__ = ["KeptPartitionCount"]


class _Kept(NamedTuple):
    topic_id: UUID
    partitions: int


class KeptPartitionCount:
    """The number that the first metadata of the topic tells, until the topic is deleted.

    ``configured``: the number while no topic is known.
    """

    def __init__(self, topic: str, configured: int, cache: MetadataCache) -> None:
        self._topic = topic
        self._configured = configured
        self._cache = cache
        self._kept: _Kept | None = None
        self._highest_read = -1
        """Metadata without this partition is incomplete."""
        self._keep()
        cache.on_update(lambda _update: self._keep())

    @property
    def value(self) -> int:
        if self._kept is not None:
            return self._kept.partitions
        return self._cache.partition_count(self._topic) or self._configured

    def note_read(self, partition: int) -> None:
        """The entries of this partition are read."""
        self._highest_read = max(partition, self._highest_read)

    def _keep(self) -> None:
        count, topic_id = self._cache.partition_count(self._topic), self._cache.topic_id(self._topic)
        if self._kept is not None and (not count or self._kept.topic_id != topic_id):  # the topic was deleted
            self._kept, self._highest_read = None, -1
        if self._kept is None and count and count > self._highest_read:
            self._kept = _Kept(topic_id, count)
