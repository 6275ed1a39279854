"""Loads and unloads groups when the leadership of partitions of ``__consumer_offsets`` moves."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from ...base.kafka_names import CONSUMER_OFFSETS_TOPIC
from ...base.topic_partition import TopicPartition
from ...protocol.errors import KafkaError
from ...protocol.sentinels import EPOCH_DURING_DELETE
from ...replication.state_changes import Leadership
from .group.coordinator import GroupCoordinator

__all__ = ["GroupLeadershipMoves"]

logger = logging.getLogger(__name__)

_GATHERED_S = 0.5


class GroupLeadershipMoves:
    """``spawn`` runs a coroutine in a task."""

    def __init__(self, groups: GroupCoordinator, spawn: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        self._groups = groups
        self._spawn = spawn
        self._unloaded: list[int] = []

    def leadership_changed(self, elected: Sequence[Leadership], resigned: Sequence[Leadership]) -> None:
        """Unload the groups of resigned partitions, and load those of elected ones."""
        self._unload(
            {
                partition.partition: None if epoch == EPOCH_DURING_DELETE else epoch
                for partition, epoch in resigned
                if partition.topic == CONSUMER_OFFSETS_TOPIC
            }
        )
        for partition, epoch in elected:
            if partition.topic == CONSUMER_OFFSETS_TOPIC:
                loading = self._groups.load_partition(partition.partition, epoch)
                self._spawn(self._load(partition, loading))

    def partitions_deleted(self, deleted: Sequence[TopicPartition]) -> None:
        """Unload the groups of deleted partitions, and drop the offsets committed for deleted partitions."""
        self._unload({each.partition: None for each in deleted if each.topic == CONSUMER_OFFSETS_TOPIC})
        if deleted:
            self._groups.administration.forget_partitions(deleted)

    def _unload(self, epochs: Mapping[int, int | None]) -> None:
        """Unload the groups of partitions, given with their leader epochs."""
        counts = [self._groups.unload_partition(partition, epoch) for partition, epoch in epochs.items()]
        unloaded = [count for count in counts if count is not None]
        if unloaded and not self._unloaded:
            self._spawn(self._tell_unloaded())
        self._unloaded += unloaded

    async def _tell_unloaded(self) -> None:
        """Log one line for the partitions of an election or a stop, whose roles change one after another."""
        try:
            await asyncio.sleep(_GATHERED_S)
        finally:
            counts, self._unloaded = self._unloaded, []
            logger.info("unloaded %d groups of %d partitions of %s", sum(counts), len(counts), CONSUMER_OFFSETS_TOPIC)

    async def _load(self, partition: TopicPartition, loading: Coroutine[Any, Any, None]) -> None:
        try:
            await loading
        except KafkaError as error:
            logger.error("%s: the groups of this partition could not be loaded: %s", partition, error)
