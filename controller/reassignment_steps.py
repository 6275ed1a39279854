"""Moves partitions to other replicas (KIP-455, Kafka's onPartitionReassignment)."""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..base.topic_partition import TopicPartition
from ..protocol.errors import KafkaError
from .broker_requests import BrokerRequests
from .context import ControllerContext
from .controller_inbox import ControllerInbox
from .leader_election import ElectionStrategy
from .reassignment_rules import is_complete, requested_assignment
from .request_batch import RequestBatch
from .state_machines import StateMachines
from .state_tables import PartitionReplica, PartitionState, ReplicaState
from .tree.cluster_tree import ClusterTree
from .tree.leader_and_isr import LeaderAndIsr, PartitionLeadership
from .tree.replica_assignment import ReplicaAssignment

__all__ = ["ReassignmentSteps"]

logger = logging.getLogger(__name__)


class ReassignmentSteps:
    """Called within the controller's events only.

    The topic's node records the move, so that the next controller can continue: all replicas, those of the target
    first, and which of them are being added and removed. The steps for a partition on 1, 2, 3 that moves to 4, 5, 6:

        replicas         adding   removing  leader  ISR
        1,2,3                               1       1,2,3
        4,5,6,1,2,3      4,5,6    1,2,3     1       1,2,3         the new replicas fetch: phase A
        4,5,6,1,2,3      4,5,6    1,2,3     1       1,2,3,4,5,6   the last one has caught up: phase B
        4,5,6,1,2,3      4,5,6    1,2,3     4       1,2,3,4,5,6
        4,5,6,1,2,3      4,5,6    1,2,3     4       4,5,6         the old replicas are stopped and deleted
        4,5,6                               4       4,5,6         the node is written last

    Cancelling a move means moving back. The topic cannot be deleted during a move.
    """

    def __init__(
        self,
        context: ControllerContext,
        tree: ClusterTree,
        inbox: ControllerInbox,
        batch: RequestBatch,
        requests: BrokerRequests,
        machines: StateMachines,
    ) -> None:
        self._context = context
        self._tree = tree
        self._inbox = inbox
        self._batch = batch
        self._requests = requests
        self._partitions = machines.partitions
        self._replicas = machines.replicas
        self._deletion = machines.deletion

    # -- requests

    async def begin(
        self, targets: Mapping[TopicPartition, Sequence[int] | None], *, may_change_factor: bool = True
    ) -> dict[TopicPartition, KafkaError | None]:
        """Begin moves; a target of None cancels. A new request replaces earlier ones, also those in the tree."""
        results: dict[TopicPartition, KafkaError | None] = {}
        granted: dict[TopicPartition, ReplicaAssignment] = {}
        for partition, target in targets.items():
            wanted = requested_assignment(self._context, partition, target, may_change_factor=may_change_factor)
            if isinstance(wanted, KafkaError):
                results[partition] = wanted
            else:
                granted[partition] = wanted
                results[partition] = None
        await self._forget_requests(lambda partition, _target: partition in granted)
        for partition, assignment in granted.items():
            await self._advance(partition, assignment)
        return results

    async def begin_requested(self, targets: Mapping[TopicPartition, Sequence[int]]) -> list[TopicPartition]:
        """Begin the moves requested in /admin/reassign_partitions, and remove refused ones from it.

        Returns the partitions that are being moved by the request.
        """
        begun: list[TopicPartition] = []
        for partition, target in targets.items():
            if self.is_under_way(partition) and self._context.assignment(partition).target == tuple(target):
                continue
            wanted = requested_assignment(self._context, partition, target, must_be_alive=False)
            if isinstance(wanted, KafkaError):
                logger.warning("partition %s is not reassigned to %s: %s", partition, list(target), wanted)
                continue
            begun.append(partition)
            await self._advance(partition, wanted)
        await self._forget_requests(lambda partition, _target: not self.is_under_way(partition))
        return begun

    async def resume(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Continue the moves of ``partitions`` (None: all)."""
        under_way = list(self._context.partitions_being_reassigned)
        wanted = under_way if partitions is None else [p for p in partitions if p in under_way]
        for partition in wanted:
            await self._advance(partition, self._context.assignment(partition))

    async def resume_on(self, broker_ids: Iterable[int]) -> None:
        """Continue moves to brokers that have come up: tell them about their new replicas again."""
        up = set(broker_ids)
        await self.resume(
            [p for p in self._context.partitions_being_reassigned if up & set(self._context.assignment(p).target)]
        )

    async def complete_where_in_sync(self, partitions: Iterable[TopicPartition]) -> None:
        """Complete the moves of ``partitions`` whose ISRs now allow it."""
        for partition in partitions:
            if self.is_under_way(partition) and self._is_complete(partition, self._context.assignment(partition)):
                logger.info("partition %s: all new replicas have caught up", partition)
                await self._advance(partition, self._context.assignment(partition))

    def is_under_way(self, partition: TopicPartition) -> bool:
        return partition in self._context.partitions_being_reassigned

    # -- the steps

    async def _advance(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        await self._put_assignment(partition, assignment)
        self._context.partitions_being_reassigned[partition] = None
        self._deletion.hold([partition.topic], "a reassignment is under way")
        if self._context.leadership(partition) is None:
            await self._place(partition, assignment)
        elif self._is_complete(partition, assignment):
            await self._finish(partition, assignment)
        else:
            await self._bring_new_replicas_in(partition, assignment)

    async def _put_assignment(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Write the assignment, first in the tree. Replicas that only an earlier move added are removed at once."""
        current = self._context.assignment(partition)
        if current == assignment:
            return
        logger.info("partition %s moves from %s to %s", partition, current, assignment)
        await self._tree.set_assignment(partition, assignment, self._context.epoch_version)
        self._context.put_assignment(partition, assignment)
        unneeded = [broker_id for broker_id in current.replicas if broker_id not in assignment.replicas]
        if unneeded:
            await self._remove(partition, unneeded)
            await self._elect_if_leaderless(partition)

    def _is_complete(self, partition: TopicPartition, assignment: ReplicaAssignment) -> bool:
        leadership = self._context.leadership(partition)
        return is_complete(
            assignment,
            leadership.leader_and_isr if leadership else None,
            lambda broker_id: self._context.is_replica_online(broker_id, partition),
        )

    async def _bring_new_replicas_in(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Phase A: tell all replicas the assignment with a new leader epoch; new replicas begin to fetch."""
        leadership = await self._raise_leader_epoch(partition)
        if leadership is None:
            return
        self._batch.add_leader_and_isr(assignment.origin, partition, leadership, is_new=False)
        # A missing log may be created in any directory, because there was none before.
        self._batch.add_leader_and_isr(assignment.adding, partition, leadership, is_new=True)
        added = [PartitionReplica(partition, broker_id) for broker_id in assignment.adding]
        self._replicas.move_new(r for r in added if self._context.replica_state(r) is ReplicaState.NON_EXISTENT)
        self._requests.flush()

    async def _finish(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Phase B: elect a leader of the target, remove the other replicas, then write the tree."""
        self._replicas.move_online(PartitionReplica(partition, broker_id) for broker_id in assignment.adding)
        completed = ReplicaAssignment(assignment.target)
        self._context.put_assignment(partition, completed)
        await self._lead_among(partition, completed)
        await self._remove(partition, assignment.removing)
        await self._end(partition, completed)

    async def _lead_among(self, partition: TopicPartition, completed: ReplicaAssignment) -> None:
        """Tell all remaining replicas the new assignment, so that the leader takes no removed replica into the ISR."""
        leadership = self._context.leadership(partition)
        assert leadership is not None
        leader = leadership.leader_and_isr.leader
        if leader not in completed.replicas or not self._context.is_replica_online(leader, partition):
            await self._partitions.move_online([partition], ElectionStrategy.REASSIGN)
            return
        raised = await self._raise_leader_epoch(partition)
        if raised is not None:
            self._batch.add_leader_and_isr(completed.replicas, partition, raised, is_new=False)
            self._requests.flush()

    async def _place(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Replace the replicas of a partition that never had a leader and therefore has no records."""
        completed = ReplicaAssignment(assignment.target)
        added = [PartitionReplica(partition, broker_id) for broker_id in assignment.adding]
        self._context.put_assignment(partition, completed)
        self._replicas.move_new(r for r in added if self._context.replica_state(r) is ReplicaState.NON_EXISTENT)
        await self._remove(partition, assignment.removing)
        await self._partitions.move_online([partition], ElectionStrategy.OFFLINE)
        self._replicas.move_online(self._context.replicas_of([partition]))
        await self._end(partition, completed)

    async def _remove(self, partition: TopicPartition, broker_ids: Sequence[int]) -> None:
        """Remove replicas from the ISR, stop and delete them, without waiting for the deletion."""
        replicas = [PartitionReplica(partition, broker_id) for broker_id in broker_ids]
        await self._replicas.move_offline(replicas)
        self._replicas.move_to_deletion(replicas)
        self._replicas.mark(replicas, ReplicaState.DELETION_SUCCESSFUL)
        self._replicas.forget(replicas)

    async def _end(self, partition: TopicPartition, completed: ReplicaAssignment) -> None:
        await self._tree.set_assignment(partition, completed, self._context.epoch_version)
        await self._forget_requests(lambda wished, target: wished == partition and target == completed.replicas)
        self._context.partitions_being_reassigned.pop(partition, None)
        logger.info("partition %s has moved to %s", partition, list(completed.replicas))
        self._requests.tell_all_brokers([partition])
        if not any(other.topic == partition.topic for other in self._context.partitions_being_reassigned):
            await self._deletion.resume_for([partition.topic])

    # -- what the steps need

    async def _elect_if_leaderless(self, partition: TopicPartition) -> None:
        leadership = self._context.leadership(partition)
        if leadership is None or self._context.is_queued_for_deletion(partition.topic):
            return
        if not self._context.is_replica_online(leadership.leader_and_isr.leader, partition):
            self._partitions.move([partition], PartitionState.OFFLINE)
            await self._partitions.move_online([partition], ElectionStrategy.OFFLINE)

    async def _raise_leader_epoch(self, partition: TopicPartition) -> PartitionLeadership | None:
        """Raise only the leader epoch. None: the state is gone from the tree, or of another controller."""
        while True:
            current = (await self._tree.partition_states([partition])).get(partition)
            if current is None or current.controller_epoch > self._context.epoch:
                logger.error("partition %s is reassigned, but its state is %s", partition, current)
                return None
            wanted: dict[TopicPartition, LeaderAndIsr] = {partition: current.leader_and_isr.with_next_epoch()}
            written, _ = await self._tree.update_partition_states(
                wanted, self._context.epoch, self._context.epoch_version
            )
            if partition in written:
                raised = PartitionLeadership(written[partition], self._context.epoch)
                self._context.put_leadership(partition, raised)
                return raised

    async def _forget_requests(self, is_settled: Callable[[TopicPartition, tuple[int, ...]], bool]) -> None:
        wishes = await self._inbox.reassignments()
        if wishes is None:
            return
        left = {partition: target for partition, target in wishes.items() if not is_settled(partition, target)}
        if len(left) < len(wishes) or not left:
            await self._inbox.set_reassignments(left, self._context.epoch_version)
