"""Handles events of brokers: they start, fail, restart, change, or are about to stop.

These are Kafka's BrokerChange, BrokerModifications and ControlledShutdown events.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import partial

from ..base.topic_partition import TopicPartition
from .broker_requests import BrokerRequests
from .context import ControllerContext
from .leader_election import ElectionStrategy
from .reassignment_steps import ReassignmentSteps
from .request_batch import RequestBatch
from .state_machines import StateMachines
from .state_tables import PartitionReplica, PartitionState
from .tree.cluster_tree import ClusterTree
from .tree.metadata_store import EventType, WatchEvent
from .tree.znodes import BrokerInfo, ZnodeDecodeError

__all__ = ["BrokerEvents"]

logger = logging.getLogger(__name__)


class BrokerEvents:
    """Called within the controller's events only; ``post`` queues an event when a watch fires."""

    def __init__(
        self,
        context: ControllerContext,
        tree: ClusterTree,
        batch: RequestBatch,
        requests: BrokerRequests,
        machines: StateMachines,
        reassignments: ReassignmentSteps,
        post: Callable[[str, Callable[[], Awaitable[object]]], None],
    ) -> None:
        self._context = context
        self._tree = tree
        self._batch = batch
        self._requests = requests
        self._partitions = machines.partitions
        self._replicas = machines.replicas
        self._deletion = machines.deletion
        self._reassignments = reassignments
        self._post = post
        self._watched: set[int] = set()

    async def load(self) -> None:
        """Read the live brokers, and watch them."""
        brokers = await self._tree.brokers(self._on_brokers_changed)
        for info, broker_epoch in brokers.values():
            self._add_broker(info, broker_epoch)
        await self._watch_brokers(brokers)

    def log_dirs_failed(self, broker_ids: Iterable[int]) -> None:
        """Send the brokers the roles of their replicas again.

        The responses tell which replicas are lost, and which are not lost any more: their log directory was full and
        has space again.
        """
        live = [broker_id for broker_id in broker_ids if broker_id in self._context.live_or_shutting_down_ids]
        self._replicas.move_online(
            replica
            for replica in self._context.replicas_on(live)
            if not self._context.is_queued_for_deletion(replica.topic)
        )

    def _on_brokers_changed(self, _event: WatchEvent) -> None:
        self._post("brokers changed", self._brokers_changed)

    async def _brokers_changed(self) -> None:
        current = await self._tree.brokers(self._on_brokers_changed)
        known = self._context.live_or_shutting_down_ids
        new = [b for b in current if b not in known]
        dead = [b for b in known if b not in current]
        bounced = [b for b in known if b in current and current[b][1] > self._context.broker_epoch(b)]
        if not (new or dead or bounced):
            return
        logger.info("brokers: new %s, gone %s, restarted %s, live %s", new, dead, bounced, sorted(current))
        if new:
            await self._brokers_started({b: current[b] for b in new})
        if bounced:
            await self._brokers_failed(bounced)
            await self._brokers_started({b: current[b] for b in bounced})
        if dead:
            await self._brokers_failed(dead)

    async def _brokers_started(self, brokers: Mapping[int, tuple[BrokerInfo, int]]) -> None:
        existing = self._context.live_or_shutting_down_ids
        for info, broker_epoch in brokers.values():
            self._context.offline_dir_replicas.pop(info.broker_id, None)
            self._add_broker(info, broker_epoch)
        self._batch.add_update_metadata(existing, ())
        self._requests.flush()
        self._batch.add_update_metadata(brokers, self._context.partitions_with_leaders)
        self._requests.flush()
        replicas = self._context.replicas_on(brokers)
        self._replicas.move_online(self._kept(replicas))
        await self._partitions.bring_online()
        await self._reassignments.resume_on(brokers)
        await self._deletion.resume_for(dict.fromkeys(replica.topic for replica in replicas))
        await self._watch_brokers(brokers)

    async def _brokers_failed(self, broker_ids: Iterable[int]) -> None:
        for broker_id in broker_ids:
            self._context.offline_dir_replicas.pop(broker_id, None)
            self._context.shutting_down.pop(broker_id, None)
            self._context.remove_broker(broker_id)
            await self._requests.disconnect(broker_id)
        replicas = self._context.replicas_on(broker_ids)
        await self.replicas_offline(replicas)
        await self._deletion.fail(replicas)

    async def replicas_offline(self, replicas: Iterable[PartitionReplica]) -> None:
        """After a broker or log directory failed, or is full: elect other leaders and shrink ISRs.

        Replicas that are being deleted are left alone: a full log directory can delete them, and a failed one reports
        its error in the response to StopReplica. (Kafka's deletion waits until the broker restarts.)
        """
        self._partitions.move(self._context.partitions_with_offline_leader, PartitionState.OFFLINE)
        elected = await self._partitions.bring_online()
        kept = self._kept(replicas)
        await self._replicas.move_offline(kept)
        if not kept and not elected:
            self._requests.tell_all_brokers(())

    async def replicas_online(self, replicas: Iterable[PartitionReplica]) -> None:
        """Replicas in log directories that were full can be written again. An election since their brokers were asked
        left them out, so the brokers are told the leaders again. Reassignments that waited for them go on."""
        kept = self._kept(replicas)
        elected = await self._partitions.bring_online()
        self._replicas.move_online(replica for replica in kept if replica.partition not in elected)
        self._requests.tell_all_brokers(replica.partition for replica in kept)
        await self._reassignments.resume_on({replica.broker_id for replica in kept})

    def _kept(self, replicas: Iterable[PartitionReplica]) -> list[PartitionReplica]:
        """The replicas whose topics are not being deleted."""
        return [replica for replica in replicas if not self._context.is_queued_for_deletion(replica.topic)]

    def _add_broker(self, info: BrokerInfo, broker_epoch: int) -> None:
        self._context.put_broker(info, broker_epoch)
        self._requests.connect(info)

    async def _watch_brokers(self, broker_ids: Iterable[int]) -> None:
        for broker_id in broker_ids:
            if broker_id not in self._watched:
                await self._broker_changed(broker_id)

    def _on_broker_changed(self, broker_id: int, event: WatchEvent) -> None:
        if broker_id not in self._watched:
            return  # another watch on this broker has reported it
        self._watched.discard(broker_id)
        if event.type is EventType.DELETED:
            return  # the watch on all brokers reports it
        self._post("broker changed", partial(self._broker_changed, broker_id))

    async def _broker_changed(self, broker_id: int) -> None:
        """Read a live broker again: its listeners or features may have changed."""
        self._watched.add(broker_id)
        try:
            current = await self._tree.broker(broker_id, partial(self._on_broker_changed, broker_id))
        except ZnodeDecodeError as error:
            logger.error("broker node %s is ignored: %s", error.path, error.reason)
            return
        if current is None:  # no watch was set in this case
            self._watched.discard(broker_id)
            return
        info, broker_epoch = current
        known = self._context.broker(broker_id)
        if known is None or known == info or not self._context.is_of_broker_epoch(broker_id, broker_epoch):
            return  # the watch on all brokers reports a restart
        self._context.put_broker(info, broker_epoch)
        self._requests.tell_all_brokers(())

    async def controlled_shutdown(self, broker_id: int) -> list[TopicPartition]:
        logger.info("broker %d is shutting down", broker_id)
        self._context.shutting_down[broker_id] = None
        led: list[TopicPartition] = []
        followed: list[TopicPartition] = []
        for replica in self._context.replicas_on([broker_id]):
            partition = replica.partition
            leadership = self._context.leadership(partition)
            if (
                leadership is None
                or len(self._context.assignment(partition).replicas) < 2
                or self._context.is_queued_for_deletion(partition.topic)
            ):
                continue
            (led if leadership.leader_and_isr.leader == broker_id else followed).append(partition)
        await self._partitions.move_online(led, ElectionStrategy.CONTROLLED_SHUTDOWN)
        for partition in followed:
            self._batch.add_stop_replica([broker_id], partition, delete=False)
        self._requests.flush()
        await self._replicas.move_offline(PartitionReplica(partition, broker_id) for partition in followed)
        return self._context.partitions_led_by(broker_id)
