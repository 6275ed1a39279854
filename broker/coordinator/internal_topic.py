"""Appends to and reads from the partitions of ``__consumer_offsets`` on this broker, for the group coordinator."""

from collections.abc import AsyncIterator, Awaitable, Callable

from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ...base.topic_partition import TopicPartition
from ...config.config import Config
from ...replication.partition_set import PartitionSet
from ...storage.producers.verification_guards import VerificationGuard
from ..metadata.metadata_cache import MetadataCache

__all__ = ["OffsetsTopic"]

_ALL_IN_SYNC = -1
_LEADER_ALONE = 1


class OffsetsTopic:
    """The `OffsetsLog` of the group coordinator."""

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
        self, partition: int, records: bytes, *, awaits_replicas: bool, guard: VerificationGuard | None = None
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
