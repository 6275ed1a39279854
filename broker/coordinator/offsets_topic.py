"""``__consumer_offsets`` on this broker, as the group coordinator sees it."""

from collections.abc import AsyncIterator, Awaitable, Callable

from ...base.topic_partition import TopicPartition
from ...config.config import Config
from ...controller.auto_creation import AutoTopicCreation
from ...controller.topic_names import CONSUMER_OFFSETS_TOPIC
from ...protocol.errors import ErrorCode
from ...replication.partition_set import PartitionSet
from ...storage.producers.transaction_guards import TransactionGuard
from ..metadata.advertised_address import AdvertisedAddresses
from ..metadata.leader_hints import BrokerEndpoint
from ..metadata.metadata_cache import MetadataCache
from ..metadata.topic_waiters import TopicWaiters
from ..requests.context import RequestContext

__all__ = ["CoordinatorPlaces", "OffsetsTopic"]

_NO_LEADER = -1
_ALL_IN_SYNC = -1
_LEADER_ALONE = 1
_CREATION_TIMEOUT_MS = 10_000
_SOON_THERE = (ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
"""What the creation of a topic says that has been made, or is being made for somebody else."""


class OffsetsTopic:
    """The coordinator's `OffsetsLog`."""

    def __init__(
        self, partitions: PartitionSet, cache: MetadataCache, clock_ms: Callable[[], int], config: Config
    ) -> None:
        self._partitions = partitions
        self._cache = cache
        self._clock_ms = clock_ms
        self._configured_count = config.int("offsets.topic.num.partitions")
        acks = config.int("offsets.commit.required.acks")
        self._required_acks = acks if acks in (0, _LEADER_ALONE) else _ALL_IN_SYNC
        self._timeout_ms = config.int("offsets.commit.timeout.ms")
        self._load_bytes = config.int("offsets.load.buffer.size")

    @property
    def partition_count(self) -> int:
        return self._cache.partition_count(CONSUMER_OFFSETS_TOPIC) or self._configured_count

    def append(
        self, partition: int, records: bytes, *, awaits_replicas: bool, guard: TransactionGuard | None = None
    ) -> Awaitable[int]:
        return self._partitions.append_internal(
            TopicPartition(CONSUMER_OFFSETS_TOPIC, partition),
            records,
            self._clock_ms(),
            self._timeout_ms,
            self._required_acks if awaits_replicas else _LEADER_ALONE,
            guard,
        )

    def read(self, partition: int) -> AsyncIterator[memoryview]:
        return self._partitions.read_all(TopicPartition(CONSUMER_OFFSETS_TOPIC, partition), self._load_bytes)

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

    @property
    def exists(self) -> bool:
        return self._cache.has_topic(self._topic)

    @property
    def partition_count(self) -> int | None:
        """None: the topic is unknown."""
        return self._cache.partition_count(self._topic)

    def node_of(self, partition: int, context: RequestContext) -> BrokerEndpoint | None:
        leader = self._cache.leader_of(self._topic, partition)
        if leader is None or leader[0] == _NO_LEADER:
            return None
        return self._addresses.endpoint_of(leader[0], context.address)

    async def ensure_topic(self) -> bool:
        """If the topic is missing, it is made: returns when all its leaders are known here, or it took too long. Where
        it is there, or cannot be made, there is nothing to wait for."""
        if not self.exists:
            codes = await self._creation.create([self._topic])
            if codes[self._topic] in _SOON_THERE:
                await self._waiters.wait(self._is_led, _CREATION_TIMEOUT_MS)
        return True

    def _is_led(self) -> bool:
        partitions = self._cache.partitions(self._topic)
        return bool(partitions) and all(partition.leader != _NO_LEADER for partition in partitions)
