"""Handles events of topics: they are created, get more partitions, or are marked for deletion.

These are Kafka's TopicChange, PartitionModifications and TopicDeletion events.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from random import Random

from ..base.topic_partition import TopicPartition
from .context import ControllerContext
from .leader_election import ElectionStrategy
from .missed_restarts import settle_missed_restarts
from .state_machines import StateMachines
from .state_tables import PartitionState
from .tree.cluster_tree import ClusterTree
from .tree.metadata_store import WatchEvent
from .tree.topic_ids import new_topic_id
from .tree.znodes import TopicInfo

__all__ = ["TopicEvents"]

logger = logging.getLogger(__name__)


class TopicEvents:
    """Called within the controller's events only; ``post`` queues an event when a watch fires."""

    def __init__(
        self,
        context: ControllerContext,
        tree: ClusterTree,
        machines: StateMachines,
        random: Random,
        post: Callable[[str, Callable[[], Awaitable[object]]], None],
    ) -> None:
        self._context = context
        self._tree = tree
        self._partitions = machines.partitions
        self._replicas = machines.replicas
        self._deletion = machines.deletion
        self._random = random
        self._post = post
        self._watched: set[str] = set()

    async def load(self) -> None:
        """Read and watch all topics, their partitions' leaders, and the marks for deletion."""
        await self._load_topics(await self._tree.topics(self._on_topics_changed))
        written_at: dict[TopicPartition, int] = {}
        states = await self._tree.written_states(self._context.all_partitions)
        for partition, (leadership, zxid) in states.items():
            self._context.put_leadership(partition, leadership)
            written_at[partition] = zxid
        await settle_missed_restarts(self._context, self._tree, written_at)
        await self._deletion.start(await self._tree.topics_to_delete(self._on_deletions_changed))

    def _on_topics_changed(self, _event: WatchEvent) -> None:
        self._post("topics changed", self._topics_changed)

    async def _topics_changed(self) -> None:
        present = await self._tree.topics(self._on_topics_changed)
        are_present = set(present)
        gone = [topic for topic in self._context.topics if topic not in are_present]
        for topic in gone:
            self._context.remove_topic(topic)
        new = await self._load_topics([topic for topic in present if not self._context.has_topic(topic)])
        if new:
            logger.info("new topics: %s", ", ".join(info.topic for info in new))
            await self._create_partitions([p for info in new for p in self._context.partitions_of(info.topic)])

    async def _load_topics(self, topics: Iterable[str]) -> list[TopicInfo]:
        """Read topics into the context and watch them; give an id to topics without one."""
        wanted = list(topics)
        watches = {}
        for topic in wanted:
            if topic not in self._watched:
                self._watched.add(topic)
                watches[topic] = partial(self._on_topic_changed, topic)
        infos = []
        for info in await self._tree.topic_infos(wanted, watches):
            if info.topic_id is None:
                info = TopicInfo(info.topic, new_topic_id(self._random), info.partitions)
                await self._tree.set_assignments(info, self._context.epoch_version)
            self._context.put_topic(info.topic, info.topic_id, info.partitions)
            for index, assignment in info.partitions.items():
                if assignment.is_being_reassigned:
                    self._context.partitions_being_reassigned[TopicPartition(info.topic, index)] = None
            infos.append(info)
        return infos

    def _on_topic_changed(self, topic: str, _event: WatchEvent) -> None:
        if topic not in self._watched:
            return  # another watch on this topic has reported it
        self._watched.discard(topic)
        self._post("topic changed", partial(self._topic_changed, topic))

    async def _topic_changed(self, topic: str) -> None:
        """Read a topic again: it may have new partitions."""
        watches = {}
        if self._context.has_topic(topic):
            self._watched.add(topic)
            watches[topic] = partial(self._on_topic_changed, topic)
        for info in await self._tree.topic_infos([topic], watches):
            known = self._context.topic_assignments(topic)
            added = {index: a for index, a in info.partitions.items() if index not in known}
            if not added or not known:
                continue
            if self._context.is_queued_for_deletion(topic):
                logger.warning("topic %s is being deleted: partitions %s are not added", topic, sorted(added))
                kept = TopicInfo(topic, info.topic_id, {i: a for i, a in info.partitions.items() if i in known})
                await self._tree.set_assignments(kept, self._context.epoch_version)
                continue
            logger.info("topic %s has new partitions: %s", topic, sorted(added))
            for index, assignment in added.items():
                self._context.put_assignment(TopicPartition(topic, index), assignment)
            await self._create_partitions([TopicPartition(topic, index) for index in added])

    async def _create_partitions(self, partitions: list[TopicPartition]) -> None:
        self._partitions.move(partitions, PartitionState.NEW)
        replicas = self._context.replicas_of(partitions)
        self._replicas.move_new(replicas)
        await self._partitions.move_online(partitions, ElectionStrategy.OFFLINE)
        self._replicas.move_online(replicas)

    def _on_deletions_changed(self, _event: WatchEvent) -> None:
        self._post("topic deletions changed", self._deletions_changed)

    async def _deletions_changed(self) -> None:
        marked = await self._tree.topics_to_delete(self._on_deletions_changed)
        unknown = [topic for topic in marked if not self._context.has_topic(topic)]
        if unknown:
            logger.warning("topics %s are marked for deletion but do not exist", ", ".join(unknown))
            await self._tree.unmark_for_deletion(unknown, self._context.epoch_version)
        await self._deletion.enqueue(topic for topic in marked if self._context.has_topic(topic))
