"""Offsets as the oldest consumers keep them: in the metadata tree, at ``/consumers/G/offsets/T/P``."""

from typing import Protocol

from ....base.topic_partition import TopicPartition

__all__ = ["LegacyOffsets", "TopicExists"]


class LegacyOffsets(Protocol):
    """Version 0 of OffsetCommit and OffsetFetch. KafkaError when the tree cannot be reached."""

    async def get(self, group_id: str, partition: TopicPartition) -> int | None:
        """The offset, or None."""
        ...

    async def set(self, group_id: str, partition: TopicPartition, offset: int) -> None:
        """Keep the offset; the nodes above are made as needed."""
        ...


class TopicExists(Protocol):
    """Whether the cluster has this partition, by this broker's metadata."""

    def __call__(self, topic: str, partition: int, /) -> bool: ...
