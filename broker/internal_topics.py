"""The topics of the coordinators as the broker uses them: made when first needed, and led by someone."""

from ..controller.auto_creation import AutoTopicCreation
from .advertised_address import AdvertisedAddresses, ReachedBy
from .apis.leader_hints import BrokerEndpoint
from .metadata_cache import MetadataCache
from .topic_waiters import TopicWaiters

__all__ = ["InternalTopics"]

_NO_LEADER = -1


class InternalTopics:
    """``patience_ms``: how long a request waits for a topic that it was the first to need."""

    def __init__(
        self,
        creation: AutoTopicCreation,
        cache: MetadataCache,
        waiters: TopicWaiters,
        addresses: AdvertisedAddresses,
        patience_ms: int,
    ) -> None:
        self._creation = creation
        self._cache = cache
        self._waiters = waiters
        self._addresses = addresses
        self._patience_ms = patience_ms

    async def ensure(self, topic: str) -> bool:
        """Make ``topic`` if it is missing; whether all its partitions have leaders, as far as is known here."""
        if not self._cache.has_topic(topic):
            await self._creation.create([topic])
        return await self._waiters.wait(lambda: self._has_leaders(topic), self._patience_ms)

    def leader_node(self, topic: str, partition: int, address: ReachedBy) -> BrokerEndpoint | None:
        """The leader as the asking client reaches it; None: there is none, or it cannot be reached so."""
        leader = self._cache.leader_of(topic, partition)
        return None if leader is None else self._addresses.endpoint_of(leader[0], address)

    def _has_leaders(self, topic: str) -> bool:
        """An UpdateMetadata may bring a part of the partitions first: those without gaps count."""
        partitions = self._cache.partitions(topic)
        return bool(partitions) and all(state.leader != _NO_LEADER for state in partitions)
