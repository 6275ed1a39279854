"""Types for offsets in the metadata tree, where the oldest consumers keep them (``/consumers/G/offsets/T/P``)."""

from collections.abc import Callable
from typing import Protocol, TypeAlias

from ....base.topic_partition import TopicPartition

__all__ = ["LegacyOffsets", "TopicExists"]


class LegacyOffsets(Protocol):
    """Stores offsets for version 0 of OffsetCommit and OffsetFetch. Raises KafkaError when the store is unreachable."""

    async def get(self, group_id: str, partition: TopicPartition) -> int | None:
        """The offset; None when there is none."""
        ...

    async def set(self, group_id: str, partition: TopicPartition, offset: int) -> None:
        """Store the offset, and create the parent nodes as needed."""
        ...


TopicExists: TypeAlias = Callable[[str, int], bool]
"""``(topic, partition) -> whether this broker's metadata has the partition``."""
