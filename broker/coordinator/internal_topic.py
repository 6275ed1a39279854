"""Appends to and reads from the partitions of an internal topic on this broker, for a coordinator."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import NamedTuple

from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC, SHARE_GROUP_STATE_TOPIC, TRANSACTION_STATE_TOPIC
from ...base.topic_partition import TopicPartition
from ...config.config import Config
from ...protocol.errors import ErrorCode, KafkaError
from ...replication.partition_set import PartitionSet
from ..metadata.metadata_cache import MetadataCache
from .internal_log import InternalAppend
from .kept_count import KeptPartitionCount

__all__ = [
    "InternalTopic",
    "InternalTopicSettings",
    "consumer_offsets_settings",
    "share_group_state_settings",
    "transaction_state_settings",
]

_ALL_IN_SYNC = -1
_LEADER_ALONE = 1
_WITHOUT_TIMEOUT_MS = 2**31 - 1


class InternalTopicSettings(NamedTuple):
    """``partition_count``: before the topic is created. ``required_acks``: 0, 1 or -1. ``load_bytes``: of one read.

    ``loads_committed``: a load begins when the topic's number of partitions is known, and ends when all that it has
    read is committed.
    """

    topic: str
    partition_count: int
    required_acks: int
    timeout_ms: int
    load_bytes: int
    loads_committed: bool = False


def consumer_offsets_settings(config: Config) -> InternalTopicSettings:
    acks = config.int("offsets.commit.required.acks")
    return InternalTopicSettings(
        CONSUMER_OFFSETS_TOPIC,
        partition_count=config.int("offsets.topic.num.partitions"),
        required_acks=acks if acks in (0, _LEADER_ALONE) else _ALL_IN_SYNC,
        timeout_ms=config.int("offsets.commit.timeout.ms"),
        load_bytes=config.int("offsets.load.buffer.size"),
    )


def transaction_state_settings(config: Config) -> InternalTopicSettings:
    """Without a timeout, an append is only answered once it is known whether the record takes effect.

    A coordinator that acted on uncommitted records could write the markers of a decision that the next leader does not
    have.
    """
    return InternalTopicSettings(
        TRANSACTION_STATE_TOPIC,
        partition_count=config.int("transaction.state.log.num.partitions"),
        required_acks=_ALL_IN_SYNC,
        timeout_ms=_WITHOUT_TIMEOUT_MS,
        load_bytes=config.int("transaction.state.log.load.buffer.size"),
        loads_committed=True,
    )


def share_group_state_settings(config: Config) -> InternalTopicSettings:
    """Without a timeout, as the transactions' topic: what the coordinator answers must be what is in the log."""
    return InternalTopicSettings(
        SHARE_GROUP_STATE_TOPIC,
        partition_count=config.int("share.coordinator.state.topic.num.partitions"),
        required_acks=_ALL_IN_SYNC,
        timeout_ms=_WITHOUT_TIMEOUT_MS,
        load_bytes=config.int("share.coordinator.load.buffer.size"),
        loads_committed=True,
    )


class InternalTopic:
    """Implements `InternalLog`, whose docstrings are not repeated. ``now_ms``: the wall clock."""

    def __init__(
        self,
        settings: InternalTopicSettings,
        partitions: PartitionSet,
        cache: MetadataCache,
        now_ms: Callable[[], int],
    ) -> None:
        self._settings = settings
        self._partitions = partitions
        self._cache = cache
        self._now_ms = now_ms
        self._loaded_ends: dict[int, int] = {}
        """By partition, the end of what was read, until it is committed."""
        self._loads: list[asyncio.Future[None]] = []
        """Loads that wait for the topic's metadata."""
        self._count = KeptPartitionCount(settings.topic, settings.partition_count, cache)
        if settings.loads_committed:
            cache.on_update(lambda _update: self._metadata_updated())

    @property
    def topic(self) -> str:
        return self._settings.topic

    @property
    def partition_count(self) -> int:
        return self._count.value

    def append(self, append: InternalAppend) -> Awaitable[int]:
        settings = self._settings
        return self._partitions.append_internal(
            TopicPartition(self.topic, append.partition),
            append.records,
            self._now_ms(),
            settings.timeout_ms,
            settings.required_acks if append.awaits_replicas else _LEADER_ALONE,
            append.guard,
            append.chain,
        )

    async def read(self, partition: int) -> AsyncIterator[memoryview]:
        place = TopicPartition(self.topic, partition)
        self._count.note_read(partition)
        hosted = self._partitions.get(place)
        if hosted is not None and not hosted.strand.is_idle:  # an append of the last load may be under way
            future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            hosted.strand.submit(lambda log: None, lambda result: _set_done(future))
            await future
        async for chunk in self._partitions.read_all(place, self._settings.load_bytes):
            yield chunk

    async def before_load(self) -> None:
        if self._settings.loads_committed and not self._cache.has_topic(self.topic):
            # The order to lead may come before the metadata, and the entries are checked by the number of partitions.
            metadata = asyncio.get_running_loop().create_future()
            self._loads.append(metadata)
            await metadata

    async def after_load(self, partition: int) -> None:
        if self._settings.loads_committed:
            await self._partitions.all_committed(TopicPartition(self.topic, partition))
        elif self._settings.required_acks == _ALL_IN_SYNC:
            hosted = self._partitions.get(TopicPartition(self.topic, partition))
            if hosted is not None:
                self._loaded_ends[partition] = hosted.log.log_end_offset

    def is_load_committed(self, partition: int) -> bool:
        end_offset = self._loaded_ends.get(partition)
        if end_offset is None:
            return True
        hosted = self._partitions.get(TopicPartition(self.topic, partition))
        if hosted is not None and hosted.partition.high_watermark < end_offset:
            return False
        del self._loaded_ends[partition]
        return True

    def _metadata_updated(self) -> None:
        if self._loads and self._cache.has_topic(self.topic):
            waiting, self._loads = self._loads, []
            for metadata in waiting:
                _set_done(metadata)

    def max_batch_bytes(self, partition: int) -> int | None:
        hosted = self._partitions.get(TopicPartition(self.topic, partition))
        return None if hosted is None else hosted.log.config.max_message_bytes

    def refusal(self, partition: int) -> ErrorCode:
        hosted = self._partitions.get(TopicPartition(self.topic, partition))
        try:
            if hosted is not None:
                hosted.partition.check_append(self._settings.required_acks)
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE

    def is_leader(self, partition: int) -> bool:
        return self._partitions.is_leader(TopicPartition(self.topic, partition))


def _set_done(future: "asyncio.Future[None]") -> None:
    if not future.done():  # cancelled by a stop
        future.set_result(None)
