"""Loads and unloads the entries of coordinators when the leadership of their topics' partitions moves."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from typing import Any

from ...base.topic_partition import TopicPartition
from ...protocol.errors import KafkaError
from ...protocol.sentinels import EPOCH_DURING_DELETE
from ...replication.state_changes import Leadership
from .coordinator_partitions import CoordinatorPartitions

__all__ = ["CoordinatorMoves"]

logger = logging.getLogger(__name__)

_GATHERED_S = 0.5


class CoordinatorMoves:
    """The coordinators of this broker, by topic. ``spawn`` runs a coroutine in a task.

    ``on_demand``: those that are made when this broker first leads a partition of their topic.
    """

    def __init__(
        self,
        coordinators: Iterable[CoordinatorPartitions[Any]],
        spawn: Callable[[Coroutine[Any, Any, None]], None],
        on_demand: Mapping[str, Callable[[], CoordinatorPartitions[Any]]] | None = None,
    ) -> None:
        self._coordinators = {each.topic: each for each in coordinators}
        self._on_demand = on_demand or {}
        self._spawn = spawn
        self._unloaded: dict[str, list[int]] = {topic: [] for topic in (*self._coordinators, *self._on_demand)}

    def leadership_changed(self, elected: Sequence[Leadership], resigned: Sequence[Leadership]) -> None:
        """Unload the resigned partitions, and load the elected ones."""
        self._unload({partition: None if epoch == EPOCH_DURING_DELETE else epoch for partition, epoch in resigned})
        for partition, epoch in elected:
            if partition.topic in self._unloaded:
                self.load(partition, epoch)

    def load(self, partition: TopicPartition, epoch: int) -> None:
        """Load a partition that this broker leads."""
        coordinator = self._coordinators.get(partition.topic)
        if coordinator is None:
            coordinator = self._coordinators[partition.topic] = self._on_demand[partition.topic]()
        self._spawn(self._load(partition, coordinator.kind, coordinator.load(partition.partition, epoch)))

    def partitions_deleted(self, deleted: Sequence[TopicPartition]) -> None:
        """Unload deleted partitions."""
        self._unload(dict.fromkeys(deleted))

    def _unload(self, epochs: Mapping[TopicPartition, int | None]) -> None:
        """Unload partitions, given with their leader epochs."""
        for partition, epoch in epochs.items():
            coordinator = self._coordinators.get(partition.topic)
            if coordinator is None:
                continue
            count = coordinator.unload(partition.partition, epoch)
            if count is not None:
                unloaded = self._unloaded[coordinator.topic]
                if not unloaded:
                    self._spawn(self._tell_unloaded(coordinator))
                unloaded.append(count)

    async def _tell_unloaded(self, coordinator: CoordinatorPartitions[Any]) -> None:
        """Log one line for the partitions of an election or a stop, whose roles change one after another."""
        try:
            await asyncio.sleep(_GATHERED_S)
        finally:
            counts, self._unloaded[coordinator.topic] = self._unloaded[coordinator.topic], []
            logger.info(
                "unloaded %d %s of %d partitions of %s", sum(counts), coordinator.kind, len(counts), coordinator.topic
            )

    async def _load(self, partition: TopicPartition, kind: str, loading: Awaitable[None]) -> None:
        try:
            await loading
        except KafkaError as error:
            logger.error("%s: the %s of this partition could not be loaded: %s", partition, kind, error)
