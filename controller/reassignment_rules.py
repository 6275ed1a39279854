"""Decides whether a partition may move to other replicas, and when the move is complete.

AlterPartitionReassignments, KIP-455. Pure; `reassignment_steps.py` carries the moves out.
"""

from collections.abc import Callable, Sequence

from ..base.topic_partition import TopicPartition
from ..protocol.errors import (
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    KafkaError,
    NoReassignmentInProgressError,
    UnknownTopicOrPartitionError,
)
from .context import ControllerContext
from .tree.leader_and_isr import LeaderAndIsr
from .tree.replica_assignment import ReplicaAssignment

__all__ = ["is_complete", "requested_assignment"]


def requested_assignment(
    context: ControllerContext,
    partition: TopicPartition,
    target: Sequence[int] | None,
    *,
    must_be_alive: bool = True,
    may_change_factor: bool = True,
) -> ReplicaAssignment | KafkaError:
    """The assignment for the move of ``partition`` to the replicas ``target``, or the error that refuses it.

    ``target`` None cancels the move under way. ``must_be_alive``: the added brokers must be alive.
    ``may_change_factor``: the move may change the number of replicas. The checks are in Kafka's order: replicas first,
    then whether the partition exists. Beyond Kafka, a move is not cancelled or replaced when that would delete all
    in-sync replicas.
    """
    current = context.assignment(partition)
    if target is None:
        if not current.is_being_reassigned:
            return NoReassignmentInProgressError("No partition reassignment is in progress.")
        target, may_change_factor = current.origin, True
    invalid = _why_invalid(context, current, target, must_be_alive=must_be_alive)
    if invalid is not None:
        return InvalidReplicaAssignmentError(invalid)
    if not current.replicas or context.is_queued_for_deletion(partition.topic):
        return UnknownTopicOrPartitionError("The partition does not exist.")
    if not may_change_factor and len(target) != len(current.target):
        return InvalidReplicationFactorError(
            f"The replication factor is changed from {len(current.target)} to {len(target)}"
        )
    wanted = current.reassign_to(target)
    leadership = context.leadership(partition)
    if leadership is not None and not set(leadership.leader_and_isr.isr) & set(wanted.replicas):
        return InvalidReplicaAssignmentError(
            f"None of the in-sync replicas {list(leadership.leader_and_isr.isr)} would be left."
        )
    return wanted


def is_complete(assignment: ReplicaAssignment, state: LeaderAndIsr | None, is_online: Callable[[int], bool]) -> bool:
    """Whether all target replicas are in sync and one of them can lead, so that the others may be removed.

    Kafka does not require the latter; there the only remaining in-sync replica may be down.
    """
    if not assignment.is_being_reassigned:
        return True
    if state is None:
        return False
    return set(assignment.target) <= set(state.isr) and any(map(is_online, assignment.target))


def _why_invalid(
    context: ControllerContext, current: ReplicaAssignment, target: Sequence[int], *, must_be_alive: bool
) -> str | None:
    if not target:
        return "Empty replica list specified in partition reassignment."
    if len(set(target)) != len(target):
        return f"Duplicate replica ids in partition reassignment replica list: {list(target)}"
    if any(broker_id < 0 for broker_id in target):
        return f"Invalid broker id in replica list: {list(target)}"
    live = context.live_ids
    adding = current.reassign_to(target).adding
    if must_be_alive and not set(adding) <= set(live):
        return (
            f"Replica assignment has brokers that are not alive. Replica list: {list(adding)}, live broker list: {live}"
        )
    return None
