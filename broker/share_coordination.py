"""The share coordinator of a broker, and how the broker reaches the state of share partitions wherever it is stored."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any, NamedTuple
from uuid import UUID

from ..base.kafka_names import SHARE_GROUP_STATE_TOPIC
from ..base.topic_partition import TopicPartition
from ..config.config import Config
from ..protocol.errors import ErrorCode, KafkaError
from ..replication.partition_set import PartitionSet
from ..replication.record_deletion import RecordDeletion
from .coordinator.internal_topic import InternalTopic, share_group_state_settings
from .coordinator.share.coordinator import ShareCoordinator
from .coordinator.share.coordinator_ports import ShareCoordinatorPorts
from .coordinator.share.ports import EndOffset, OtherShareCoordinators, SharePartitionKey, ShareState
from .coordinator.share.routed_state import RoutedShareState, Routes
from .coordinator.share.settings import ShareCoordinatorSettings
from .coordinator.transaction.retry_delays import RetryDelays
from .environment import Environment
from .metadata.metadata_cache import MetadataCache

__all__ = ["ShareCoordination", "ShareParts"]

logger = logging.getLogger(__name__)

_FIRST_RETRY_MS = 20
_LONGEST_RETRY_MS = 1_000
_DELETION_TIMEOUT_MS = 1_000
"""The records are deleted when it is over, too."""
_PARTITIONS_IN_A_TURN = 200
"""How many are looked up before the event loop does other work."""


class ShareParts(NamedTuple):
    """The parts of the broker that are used here. ``others``: None on a broker without a cluster."""

    partitions: PartitionSet
    cache: MetadataCache
    create_topic: Callable[[str], Awaitable[object]]
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    others: OtherShareCoordinators | None


class ShareCoordination:
    """``coordinator``: of this broker. ``states``: all of the cluster."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, config: Config, environment: Environment, parts: ShareParts
    ) -> None:
        self._parts = parts
        self._deletion = RecordDeletion(parts.partitions)
        timers, now_ms = environment.timers_on(loop), environment.clock_ms
        self.coordinator = ShareCoordinator(
            ShareCoordinatorSettings.from_config(config),
            InternalTopic(share_group_state_settings(config), parts.partitions, parts.cache, now_ms),
            ShareCoordinatorPorts(timers, now_ms, self._has_partition, self._delete_records),
        )
        self.states = RoutedShareState(
            Routes(self.coordinator.requests, self._elsewhere, self._ensure_topic),
            timers,
            RetryDelays(_FIRST_RETRY_MS, _LONGEST_RETRY_MS, environment.random.random),
            config.int("request.timeout.ms"),
        )

    async def close(self) -> None:
        """Stop answering, without waiting for appends."""
        self.states.close()
        await self.coordinator.close()

    def kill(self) -> None:
        """Stop answering."""
        self.states.close()
        self.coordinator.kill()

    async def end_offsets(self, wanted: Iterable[TopicPartition]) -> dict[TopicPartition, EndOffset]:
        """Where the partitions end, as their leaders say. LEADER_NOT_AVAILABLE: a partition has no leader now."""
        found: dict[TopicPartition, EndOffset] = {}
        elsewhere: dict[int, list[TopicPartition]] = {}
        others = self._parts.others
        for number, each in enumerate(wanted, 1):
            if number % _PARTITIONS_IN_A_TURN == 0:
                await asyncio.sleep(0)
            hosted = self._parts.partitions.get(each)
            if hosted is not None and self._parts.partitions.leader_of(each) is not None:
                found[each] = hosted.partition.high_watermark
                continue
            leader = None if others is None else others.leader_of(each)
            if leader is None:
                found[each] = ErrorCode.LEADER_NOT_AVAILABLE
            else:
                elsewhere.setdefault(leader, []).append(each)
        if others is not None:
            for answers in await asyncio.gather(*(others.end_offsets(*asked) for asked in elsewhere.items())):
                found.update(answers)
        return found

    def _has_partition(self, topic_id: UUID, partition: int) -> bool:
        topic = self._parts.cache.topic_name(topic_id)
        return topic is not None and self._parts.cache.has_partition(topic, partition)

    def _elsewhere(self, key: SharePartitionKey) -> ShareState | None:
        others = self._parts.others
        if others is None:
            return None
        partition = self.coordinator.registry.partition_for(key)
        leader = others.leader_of(TopicPartition(SHARE_GROUP_STATE_TOPIC, partition))
        return None if leader is None else others.states_of(leader)

    def _ensure_topic(self) -> None:
        if not self._parts.cache.has_topic(SHARE_GROUP_STATE_TOPIC):
            self._parts.spawn(self._create_topic())

    async def _create_topic(self) -> None:
        await self._parts.create_topic(SHARE_GROUP_STATE_TOPIC)

    def _delete_records(self, partition: int, offset: int) -> None:
        self._parts.spawn(self._delete(TopicPartition(SHARE_GROUP_STATE_TOPIC, partition), offset))

    async def _delete(self, topic_partition: TopicPartition, offset: int) -> None:
        try:
            await self._deletion.delete(topic_partition, offset, _DELETION_TIMEOUT_MS, allow_internal=True)
        except KafkaError as error:  # the partition has moved, for example; the next leader deletes them
            logger.debug("%s: old records before offset %d not deleted: %s", topic_partition, offset, error)
