"""``__consumer_offsets`` on this broker, as the group coordinator sees it."""

from collections.abc import AsyncIterator, Awaitable, Callable

from ..controller.auto_creation import AutoTopicCreation
from ..controller.topic_names import CONSUMER_OFFSETS_TOPIC
from ..replication.partition_set import PartitionSet
from ..storage.topic_partition import TopicPartition
from .advertised_address import AdvertisedAddresses
from .apis.context import RequestContext
from .apis.leader_hints import BrokerEndpoint
from .metadata_cache import MetadataCache
from .topic_waiters import TopicWaiters

__all__ = ["CoordinatorPlaces", "OffsetsTopic"]

_NO_LEADER = -1
_CREATION_TIMEOUT_MS = 10_000


class OffsetsTopic:
    """The coordinator's `OffsetsLog`. ``configured_count`` partitions are made when the topic is."""

    def __init__(
        self,
        partitions: PartitionSet,
        cache: MetadataCache,
        clock_ms: Callable[[], int],
        *,
        configured_count: int,
        commit_timeout_ms: int,
    ) -> None:
        self._partitions = partitions
        self._cache = cache
        self._clock_ms = clock_ms
        self._configured_count = configured_count
        self._commit_timeout_ms = commit_timeout_ms

    @property
    def partition_count(self) -> int:
        return self._cache.partition_count(CONSUMER_OFFSETS_TOPIC) or self._configured_count

    def append(self, partition: int, records: bytes) -> Awaitable[int]:
        topic_partition = TopicPartition(CONSUMER_OFFSETS_TOPIC, partition)
        return self._partitions.append_internal(topic_partition, records, self._clock_ms(), self._commit_timeout_ms)

    def read(self, partition: int) -> AsyncIterator[memoryview]:
        return self._partitions.read_all(TopicPartition(CONSUMER_OFFSETS_TOPIC, partition))

    def is_leader(self, partition: int) -> bool:
        return self._partitions.is_leader(TopicPartition(CONSUMER_OFFSETS_TOPIC, partition))


class CoordinatorPlaces:
    """Where the coordinators are: with the leaders of an internal topic's partitions. A missing topic is made."""

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

    def node_of(self, partition: int, context: RequestContext) -> BrokerEndpoint | None:
        leader = self._cache.leader_of(self._topic, partition)
        if leader is None or leader[0] == _NO_LEADER:
            return None
        return self._addresses.endpoint_of(leader[0], context.address)

    async def ensure_topic(self) -> None:
        """Returns when all its leaders are known here, or it took too long."""
        if not self._cache.has_topic(self._topic):
            await self._creation.create([self._topic])
        await self._waiters.wait(self._is_led, _CREATION_TIMEOUT_MS)

    def _is_led(self) -> bool:
        partitions = self._cache.partitions(self._topic)
        return bool(partitions) and all(partition.leader != _NO_LEADER for partition in partitions)
