"""An internal topic whose partition leaders are coordinators: ``__consumer_offsets`` or ``__transaction_state``."""

import asyncio

from ...controller.topics.auto_creation import AutoTopicCreation
from ...controller.topics.permit import Permit
from ...protocol.sentinels import NO_LEADER
from ..metadata.advertised_address import AdvertisedAddresses
from ..metadata.leader_hints import BrokerEndpoint
from ..metadata.metadata_cache import MetadataCache
from ..metadata.topic_waiters import TopicWaiters
from ..network.request import ConnectionInfo

__all__ = ["CoordinatorTopic"]


class CoordinatorTopic:
    """Finds the coordinators by this broker's metadata, and creates the topic when it is missing."""

    def __init__(
        self,
        topic: str,
        cache: MetadataCache,
        addresses: AdvertisedAddresses,
        creation: AutoTopicCreation,
        waiters: TopicWaiters,
    ) -> None:
        self._topic = topic
        self._cache = cache
        self._addresses = addresses
        self._creation = creation
        self._waiters = waiters

    @property
    def exists(self) -> bool:
        return self._cache.has_topic(self._topic)

    @property
    def partition_count(self) -> int | None:
        """None: the topic is unknown."""
        return self._cache.partition_count(self._topic)

    def node_of(self, partition: int, address: ConnectionInfo) -> BrokerEndpoint | None:
        """The partition's leader, at an address for the client's connection; None: no leader known."""
        leader = self._cache.leader_of(self._topic, partition)
        if leader is None or leader[0] == NO_LEADER:
            return None
        return self._addresses.endpoint_of(leader[0], address)

    async def ensure_topic(self, permit: Permit) -> None:
        """Begin to create the topic if it is missing, and wait for a moment until all its leaders are known here.

        Does not wait when the topic exists, when its creation failed, or when its creation takes longer. ``permit``
        counts the partitions of the new topic.
        """
        if not self.exists:
            deadline = self._creation.deadline
            results = await self._creation.create([self._topic], permit)
            if results[self._topic].is_expected:
                left_s = deadline - asyncio.get_running_loop().time()
                await self._waiters.wait(self._has_leaders, int(left_s * 1000))

    def _has_leaders(self) -> bool:
        partitions = self._cache.partitions(self._topic)
        return bool(partitions) and all(partition.leader != NO_LEADER for partition in partitions)
