"""Deleting topics (Kafka's TopicDeletionManager).

A topic is being deleted while /admin/delete_topics names it, so the next controller can continue. First brokers are
told that the topic has no leader (it vanishes from their metadata), then to delete their replicas. When all replicas
are deleted, the nodes are removed, the mark last. The deletion waits while the broker of a replica is down, and during
a reassignment.
"""

import logging
from collections.abc import Callable, Iterable

from .context import ControllerContext
from .partition_state_machine import PartitionStateMachine
from .replica_state_machine import ReplicaStateMachine
from .request_batch import RequestBatch
from .state_tables import PartitionReplica, PartitionState, ReplicaState
from .tree.cluster_tree import ClusterTree

__all__ = ["TopicDeletion"]

logger = logging.getLogger(__name__)


class TopicDeletion:
    """Called within the controller's events only. ``enabled`` is ``delete.topic.enable``."""

    def __init__(
        self,
        context: ControllerContext,
        tree: ClusterTree,
        batch: RequestBatch,
        flush: Callable[[], None],
        partitions: PartitionStateMachine,
        replicas: ReplicaStateMachine,
        *,
        enabled: bool,
        on_settled: Callable[[str], None],
    ) -> None:
        self._context = context
        self._tree = tree
        self._batch = batch
        self._flush = flush
        self._partitions = partitions
        self._replicas = replicas
        self._enabled = enabled
        self._on_settled = on_settled

    async def start(self, marked: Iterable[str]) -> None:
        """Take over the deletions of ``marked`` topics; `resume` begins with them."""
        if not self._enabled:
            await self._tree.unmark_for_deletion(marked, self._context.epoch_version)
            return
        reassigned = {partition.topic for partition in self._context.partitions_being_reassigned}
        for topic in marked:
            self._context.topics_to_delete[topic] = None
            replicas = self._context.replicas_of_topic(topic)
            if topic in reassigned or not all(map(self._is_alive, replicas)):
                self._context.topics_ineligible_for_deletion[topic] = None

    async def enqueue(self, topics: Iterable[str]) -> None:
        """Delete ``topics``, which exist and are marked for deletion."""
        if not self._enabled:
            await self._tree.unmark_for_deletion(topics, self._context.epoch_version)
            return
        reassigned = {partition.topic for partition in self._context.partitions_being_reassigned}
        topics = tuple(topics)
        for topic in topics:
            self._context.topics_to_delete[topic] = None
            if topic in reassigned:
                self.hold([topic], "a reassignment is under way")
        await self._resume(topics)

    async def resume_for(self, topics: Iterable[str]) -> None:
        """Continue the deletion of topics that waited for a broker or a reassignment."""
        waiting = [topic for topic in topics if self._context.is_queued_for_deletion(topic)]
        for topic in waiting:
            self._context.topics_ineligible_for_deletion.pop(topic, None)
        await self._resume(waiting)

    def hold(self, topics: Iterable[str], reason: str) -> None:
        for topic in topics:
            if self._context.is_queued_for_deletion(topic):
                self._context.topics_ineligible_for_deletion[topic] = None
                logger.info("deletion of topic %s waits: %s", topic, reason)
                self._on_settled(topic)

    async def fail(self, replicas: Iterable[PartitionReplica]) -> None:
        """Note replicas that could not be deleted: their broker is down, or reported an error."""
        failed = [replica for replica in replicas if self._context.is_queued_for_deletion(replica.topic)]
        if not failed:
            return
        may_fail = (ReplicaState.DELETION_STARTED, ReplicaState.OFFLINE)
        self._replicas.mark(
            [r for r in failed if self._context.replica_state(r) in may_fail], ReplicaState.DELETION_INELIGIBLE
        )
        topics = dict.fromkeys(replica.topic for replica in failed)
        self.hold(topics, "replicas could not be deleted")
        await self._resume(topics)

    async def complete(self, replicas: Iterable[PartitionReplica]) -> None:
        """Note deleted replicas: their topic is being deleted, or their partition has moved elsewhere."""
        deleted = [r for r in replicas if self._context.replica_state(r) is ReplicaState.DELETION_STARTED]
        self._replicas.mark(deleted, ReplicaState.DELETION_SUCCESSFUL)
        await self._resume(dict.fromkeys(replica.topic for replica in deleted))

    async def resume(self) -> None:
        """Do the next step for every topic that is being deleted."""
        await self._resume(tuple(self._context.topics_to_delete))

    async def _resume(self, topics: Iterable[str]) -> None:
        """Do the next step only for ``topics``: every response to a deletion is an event, and thousands of topics may
        be deleted at once."""
        to_retry: list[str] = []
        to_delete: list[str] = []
        for topic in topics:
            if not self._context.is_queued_for_deletion(topic):
                continue
            if self._context.all_replicas_in(topic, ReplicaState.DELETION_SUCCESSFUL):
                await self._finish(topic)
                continue
            if self._context.replicas_in(topic, ReplicaState.DELETION_STARTED):
                continue
            if self._context.replicas_in(topic, ReplicaState.DELETION_INELIGIBLE):
                to_retry.append(topic)
            if topic not in self._context.topics_ineligible_for_deletion:
                to_delete.append(topic)
        for topic in to_retry:
            await self._replicas.move_offline(self._context.replicas_in(topic, ReplicaState.DELETION_INELIGIBLE))
        if to_delete:
            await self._delete(to_delete)

    async def _delete(self, topics: list[str]) -> None:
        logger.info("deletion of topics %s has started", ", ".join(topics))
        for topic in topics:
            if topic not in self._context.topics_with_deletion_started:
                partitions = self._context.partitions_of(topic)
                self._partitions.move(partitions, PartitionState.OFFLINE)
                self._partitions.move(partitions, PartitionState.NON_EXISTENT)
                self._context.topics_with_deletion_started[topic] = None
            self._batch.add_update_metadata(self._context.live_or_shutting_down_ids, self._context.partitions_of(topic))
        self._flush()
        for topic in topics:
            await self._delete_replicas(topic)

    async def _delete_replicas(self, topic: str) -> None:
        replicas = [
            replica
            for replica in self._context.replicas_of_topic(topic)
            if self._context.replica_state(replica) is not ReplicaState.DELETION_SUCCESSFUL
        ]
        dead = [replica for replica in replicas if not self._is_alive(replica)]
        alive = [replica for replica in replicas if self._is_alive(replica)]
        may_fail = (ReplicaState.DELETION_STARTED, ReplicaState.OFFLINE)
        self._replicas.mark(
            [r for r in dead if self._context.replica_state(r) in may_fail], ReplicaState.DELETION_INELIGIBLE
        )
        await self._replicas.move_offline(alive)  # first, so that followers stop fetching before their leader is gone
        self._replicas.move_to_deletion(alive)
        if dead:
            self.hold([topic], "replicas are offline")

    async def _finish(self, topic: str) -> None:
        self._replicas.forget(self._context.replicas_in(topic, ReplicaState.DELETION_SUCCESSFUL))
        await self._tree.delete_topic(topic, self._context.epoch_version)
        self._context.remove_topic(topic)
        logger.info("topic %s was deleted", topic)
        self._on_settled(topic)

    def _is_alive(self, replica: PartitionReplica) -> bool:
        """Whether its broker is. A replica in a log directory that is full, not lost, can be deleted."""
        return replica.broker_id in self._context.live_ids
