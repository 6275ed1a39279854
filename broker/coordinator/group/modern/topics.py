"""Topics as groups see them."""

from collections.abc import Collection
from typing import Protocol
from uuid import UUID

__all__ = ["TopicLookup"]


class TopicLookup(Protocol):
    """Looks topics up in the cluster's metadata."""

    @property
    def topics(self) -> Collection[str]:
        """The names of all topics."""
        ...

    def topic_id(self, name: str) -> UUID:
        """The topic's id; NULL_UUID when it has none."""
        ...

    def topic_name(self, topic_id: UUID) -> str | None:
        """The name of the topic with this id; None when there is none."""
        ...

    def partition_count(self, name: str) -> int:
        """The number of partitions; 0 for an unknown topic."""
        ...
