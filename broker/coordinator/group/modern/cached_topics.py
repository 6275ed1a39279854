"""The topics of the metadata cache, as groups look them up."""

from collections.abc import Collection
from uuid import UUID

from ....metadata.metadata_cache import MetadataCache

__all__ = ["CachedTopics"]


class CachedTopics:
    """A `TopicLookup`."""

    def __init__(self, cache: MetadataCache) -> None:
        self._cache = cache

    @property
    def topics(self) -> Collection[str]:
        return self._cache.topics

    def topic_id(self, name: str) -> UUID:
        return self._cache.topic_id(name)

    def topic_name(self, topic_id: UUID) -> str | None:
        return self._cache.topic_name(topic_id)

    def partition_count(self, name: str) -> int:
        return self._cache.partition_count(name) or 0
