"""Changes the states of replicas: tells their brokers, and removes offline replicas from the ISR."""

import logging
from collections.abc import Callable, Iterable, Sequence

from ..base.topic_partition import TopicPartition
from ..protocol.sentinels import NO_LEADER
from .context import ControllerContext, IllegalMoveError
from .request_batch import RequestBatch
from .state_tables import PartitionReplica, PartitionState, ReplicaState, may_move_replica
from .tree.cluster_tree import ClusterTree
from .tree.leader_and_isr import LeaderAndIsr, PartitionLeadership
from .tree.replica_assignment import ReplicaAssignment

__all__ = ["ReplicaStateMachine"]

logger = logging.getLogger(__name__)


class ReplicaStateMachine:
    """Kafka's ReplicaStateMachine; called within the controller's events only."""

    def __init__(
        self, context: ControllerContext, tree: ClusterTree, batch: RequestBatch, flush: Callable[[], None]
    ) -> None:
        self._context = context
        self._tree = tree
        self._batch = batch
        self._flush = flush

    def start(self) -> None:
        """Set the states by which brokers are alive, and tell live brokers about their replicas.

        The requests are sent with the next `flush`, because leaders are elected before it.
        """
        for replica in self._context.replicas_of(self._context.all_partitions):
            if not self._context.is_replica_online(replica.broker_id, replica.partition):
                # If its topic is being deleted, the replica is deleted when its broker is back.
                self._context.initialize_replica(replica, ReplicaState.DELETION_INELIGIBLE)
                continue
            self._context.initialize_replica(replica, ReplicaState.ONLINE)
            leadership = self._context.leadership(replica.partition)
            if leadership is not None:
                self._batch.add_leader_and_isr([replica.broker_id], replica.partition, leadership, is_new=False)

    async def take_dead_replicas_offline(self) -> None:
        """Remove dead replicas from ISRs that have another live member, after the elections at the start of a term.

        They may have failed while there was no controller, and a leader without new records does not notice that. If
        all of several members are dead, all stay, and the first to come back leads. (Kafka keeps only one, the last
        that it handles.)
        """
        gone = [
            replica
            for replica in self._context.replicas_of(self._context.all_partitions)
            if not self._context.is_replica_online(replica.broker_id, replica.partition) and self._may_leave(replica)
        ]
        await self.move_offline(gone)

    def _may_leave(self, replica: PartitionReplica) -> bool:
        """Whether the replica can leave its ISR or, as the only member, give up leadership."""
        leadership = self._context.leadership(replica.partition)
        if leadership is None or self._context.is_queued_for_deletion(replica.topic):
            return False
        isr = leadership.leader_and_isr.isr
        others_are_left = any(self._context.is_replica_online(member, replica.partition) for member in isr)
        return replica.broker_id in isr and (len(isr) == 1 or others_are_left)

    def move_new(self, replicas: Iterable[PartitionReplica]) -> None:
        for replica in replicas:
            leadership = self._context.leadership(replica.partition)
            if leadership is not None and leadership.leader_and_isr.leader == replica.broker_id:
                logger.error("replica of %s on broker %d is new but leads", replica.partition, replica.broker_id)
                continue
            if self._move(replica, ReplicaState.NEW) and leadership is not None:
                self._batch.add_leader_and_isr([replica.broker_id], replica.partition, leadership, is_new=True)
        self._flush()

    def move_online(self, replicas: Iterable[PartitionReplica]) -> None:
        """Move to ONLINE; replicas that are not new are told the leader and ISR again."""
        for replica in replicas:
            was_new = self._context.replica_state(replica) is ReplicaState.NEW
            if not self._move(replica, ReplicaState.ONLINE) or was_new:
                continue
            leadership = self._context.leadership(replica.partition)
            if leadership is not None and not self._led_until_it_went(replica, leadership):
                self._batch.add_leader_and_isr([replica.broker_id], replica.partition, leadership, is_new=False)
        self._flush()

    def _led_until_it_went(self, replica: PartitionReplica, leadership: PartitionLeadership) -> bool:
        """Whether the replica led until its broker failed, and no other leader was elected since.

        Such a replica must not go on leading (in Kafka it may): it may have lost records that it had not synced, and
        would write other records with the same epoch. An election follows.
        """
        return (
            leadership.leader_and_isr.leader == replica.broker_id
            and self._context.partition_state(replica.partition) is PartitionState.OFFLINE
        )

    async def move_offline(self, replicas: Iterable[PartitionReplica]) -> None:
        """Stop the replicas and remove them from the ISR; a partition loses a leader among them."""
        by_broker: dict[int, list[PartitionReplica]] = {}
        for replica in replicas:
            if may_move_replica(self._context.replica_state(replica), ReplicaState.OFFLINE):
                by_broker.setdefault(replica.broker_id, []).append(replica)
            else:
                self._move(replica, ReplicaState.OFFLINE)  # logs the reason
        for broker_id, stopped in by_broker.items():
            await self._take_offline(broker_id, stopped)
        self._flush()

    def move_to_deletion(self, replicas: Iterable[PartitionReplica]) -> None:
        """Tell brokers to delete the replicas; their responses report the result."""
        for replica in replicas:
            if self._move(replica, ReplicaState.DELETION_STARTED):
                self._batch.add_stop_replica([replica.broker_id], replica.partition, delete=True)
        self._flush()

    def mark(self, replicas: Iterable[PartitionReplica], target: ReplicaState) -> None:
        """Move to DELETION_SUCCESSFUL or DELETION_INELIGIBLE; no broker is told."""
        for replica in replicas:
            self._move(replica, target)

    def forget(self, replicas: Iterable[PartitionReplica]) -> None:
        """Move to NON_EXISTENT, and remove the replica from the assignment in memory."""
        for replica in replicas:
            if self._move(replica, ReplicaState.NON_EXISTENT):
                assignment: ReplicaAssignment = self._context.assignment(replica.partition)
                self._context.put_assignment(replica.partition, assignment.without(replica.broker_id))

    def _move(self, replica: PartitionReplica, target: ReplicaState) -> bool:
        try:
            self._context.move_replica(replica, target)
        except IllegalMoveError:
            logger.exception("controller epoch %d: refused a state change", self._context.epoch)
            return False
        return True

    async def _take_offline(self, broker_id: int, replicas: Sequence[PartitionReplica]) -> None:
        for replica in replicas:
            self._batch.add_stop_replica([broker_id], replica.partition, delete=False)
        led = {replica.partition: None for replica in replicas if self._context.leadership(replica.partition)}
        shrunk = await self._remove_from_isr(broker_id, list(led))
        for partition, leadership in shrunk.items():
            if not self._context.is_queued_for_deletion(partition.topic):
                others = [other for other in self._context.assignment(partition).replicas if other != broker_id]
                self._batch.add_leader_and_isr(others, partition, leadership, is_new=False)
        for replica in replicas:
            if replica.partition in led and replica.partition not in shrunk:
                if not self._context.is_queued_for_deletion(replica.topic):
                    logger.error(
                        "replica of %s on broker %d stays: it has no ISR to leave", replica.partition, broker_id
                    )
                    continue
            elif replica.partition not in led:
                self._batch.add_update_metadata(self._context.live_or_shutting_down_ids, [replica.partition])
            self._move(replica, ReplicaState.OFFLINE)

    async def _remove_from_isr(
        self, broker_id: int, partitions: Sequence[TopicPartition]
    ) -> dict[TopicPartition, PartitionLeadership]:
        """Remove a replica from ISRs, retrying after changes by other writers. The last member of an ISR stays, without
        leading. Returns the present leaderships, also of partitions whose ISR did not contain it."""
        results: dict[TopicPartition, PartitionLeadership] = {}
        remaining = list(partitions)
        while remaining:
            states = await self._tree.partition_states(remaining)
            wanted: dict[TopicPartition, LeaderAndIsr] = {}
            for partition, leadership in states.items():
                state = leadership.leader_and_isr
                if self._context.is_of_later_term(partition, leadership):
                    continue
                if broker_id in state.isr:
                    wanted[partition] = _without(state, broker_id)
                else:
                    results[partition] = PartitionLeadership(state, self._context.epoch)
            written, remaining = await self._tree.update_partition_states(
                wanted, self._context.epoch, self._context.epoch_version
            )
            results.update((p, PartitionLeadership(state, self._context.epoch)) for p, state in written.items())
        for partition, leadership in results.items():
            self._context.put_leadership(partition, leadership)
        return results


def _without(state: LeaderAndIsr, broker_id: int) -> LeaderAndIsr:
    leader = NO_LEADER if state.leader == broker_id else state.leader
    isr = state.isr if len(state.isr) == 1 else tuple(member for member in state.isr if member != broker_id)
    return state.with_leader_and_isr(leader, isr)
