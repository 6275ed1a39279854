"""Moves partitions to other replicas (KIP-455, Kafka's onPartitionReassignment).

The topic's node says what is under way, so that the next controller goes on with it: all replicas, the target's first,
and which of them are being added and removed. From there on, for a partition on 1, 2, 3 that goes to 4, 5, 6:

    replicas         adding   removing  leader  ISR
    1,2,3                               1       1,2,3
    4,5,6,1,2,3      4,5,6    1,2,3     1       1,2,3         the new replicas fetch: phase A
    4,5,6,1,2,3      4,5,6    1,2,3     1       1,2,3,4,5,6   the last one has caught up: phase B
    4,5,6,1,2,3      4,5,6    1,2,3     4       1,2,3,4,5,6
    4,5,6,1,2,3      4,5,6    1,2,3     4       4,5,6         the old ones are stopped and deleted
    4,5,6                               4       4,5,6         the node is written last: it alone knew the old ones

To call it off is to move it to where it came from. While it lasts, the topic cannot be deleted.
"""

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
    """Runs within the controller's events only."""

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

    # -- who asks for it

    async def begin(
        self, targets: Mapping[TopicPartition, Sequence[int] | None]
    ) -> dict[TopicPartition, KafkaError | None]:
        """Move partitions; None: call the move off. The last wish counts, also over those in the tree."""
        results: dict[TopicPartition, KafkaError | None] = {}
        granted: dict[TopicPartition, ReplicaAssignment] = {}
        for partition, target in targets.items():
            wanted = requested_assignment(self._context, partition, target)
            if isinstance(wanted, KafkaError):
                results[partition] = wanted
            else:
                granted[partition] = wanted
                results[partition] = None
        await self._forget_wishes(lambda partition, _target: partition in granted)
        for partition, assignment in granted.items():
            await self._advance(partition, assignment)
        return results

    async def begin_wishes(self, targets: Mapping[TopicPartition, Sequence[int]]) -> list[TopicPartition]:
        """What /admin/reassign_partitions asks for. Gives those that are under way by it now or were; what is refused
        is taken out of it."""
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
        await self._forget_wishes(lambda partition, _target: not self.is_under_way(partition))
        return begun

    async def resume(self, partitions: Iterable[TopicPartition] | None = None) -> None:
        """Go on, with those of ``partitions`` (None: all) that are being moved."""
        under_way = list(self._context.partitions_being_reassigned)
        wanted = under_way if partitions is None else [p for p in partitions if p in under_way]
        for partition in wanted:
            await self._advance(partition, self._context.assignment(partition))

    async def resume_on(self, broker_ids: Iterable[int]) -> None:
        """Brokers have come up: those that are to get replicas are told once more."""
        up = set(broker_ids)
        await self.resume(
            [p for p in self._context.partitions_being_reassigned if up & set(self._context.assignment(p).target)]
        )

    async def complete_where_in_sync(self, partitions: Iterable[TopicPartition]) -> None:
        """The ISRs of ``partitions`` have changed: those moves may be complete now."""
        for partition in partitions:
            if self.is_under_way(partition) and self._is_complete(partition, self._context.assignment(partition)):
                logger.info("partition %s: its new replicas have all caught up", partition)
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
        """In the tree first. Replicas that an earlier move added and this one does not want go at once."""
        current = self._context.assignment(partition)
        if current == assignment:
            return
        logger.info("partition %s goes from %s to %s", partition, current, assignment)
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
        """Phase A: all replicas hear of each other under a new leader epoch, the new ones begin to fetch."""
        leadership = await self._raise_leader_epoch(partition)
        if leadership is None:
            return
        self._batch.add_leader_and_isr(assignment.origin, partition, leadership, is_new=False)
        # A log that is missing may be made, on whatever directory: there was none before.
        self._batch.add_leader_and_isr(assignment.adding, partition, leadership, is_new=True)
        added = [PartitionReplica(partition, broker_id) for broker_id in assignment.adding]
        self._replicas.move_new(r for r in added if self._context.replica_state(r) is ReplicaState.NON_EXISTENT)
        self._requests.flush()

    async def _finish(self, partition: TopicPartition, assignment: ReplicaAssignment) -> None:
        """Phase B: a leader among the target, the others gone, then the tree."""
        self._replicas.move_online(PartitionReplica(partition, broker_id) for broker_id in assignment.adding)
        completed = ReplicaAssignment(assignment.target)
        self._context.put_assignment(partition, completed)
        await self._lead_among(partition, completed)
        await self._remove(partition, assignment.removing)
        await self._end(partition, completed)

    async def _lead_among(self, partition: TopicPartition, completed: ReplicaAssignment) -> None:
        """All remaining replicas hear of the new assignment, so that the leader takes none of the others back."""
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
        """It never had a leader, so there are no records to move: its new replicas are simply the ones it has."""
        completed = ReplicaAssignment(assignment.target)
        added = [PartitionReplica(partition, broker_id) for broker_id in assignment.adding]
        self._context.put_assignment(partition, completed)
        self._replicas.move_new(r for r in added if self._context.replica_state(r) is ReplicaState.NON_EXISTENT)
        await self._remove(partition, assignment.removing)
        await self._partitions.move_online([partition], ElectionStrategy.OFFLINE)
        self._replicas.move_online(self._context.replicas_of([partition]))
        await self._end(partition, completed)

    async def _remove(self, partition: TopicPartition, broker_ids: Sequence[int]) -> None:
        """Out of the ISR, stopped, deleted. Whether a broker has deleted its replica is not waited for."""
        replicas = [PartitionReplica(partition, broker_id) for broker_id in broker_ids]
        await self._replicas.move_offline(replicas)
        self._replicas.move_to_deletion(replicas)
        self._replicas.mark(replicas, ReplicaState.DELETION_SUCCESSFUL)
        self._replicas.forget(replicas)

    async def _end(self, partition: TopicPartition, completed: ReplicaAssignment) -> None:
        await self._tree.set_assignment(partition, completed, self._context.epoch_version)
        await self._forget_wishes(lambda wished, target: wished == partition and target == completed.replicas)
        self._context.partitions_being_reassigned.pop(partition, None)
        logger.info("partition %s is on %s", partition, list(completed.replicas))
        self._requests.tell_everyone([partition])
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
        """Nothing else changes. None: its state is gone from the tree, or of another controller."""
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

    async def _forget_wishes(self, is_settled: Callable[[TopicPartition, tuple[int, ...]], bool]) -> None:
        wishes = await self._inbox.reassignments()
        if wishes is None:
            return
        left = {partition: target for partition, target in wishes.items() if not is_settled(partition, target)}
        if len(left) < len(wishes) or not left:
            await self._inbox.set_reassignments(left, self._context.epoch_version)
