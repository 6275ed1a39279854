"""What is said to a wish to move a partition to other replicas (AlterPartitionReassignments, KIP-455). Pure.

Moving is not built: a wish is granted when it asks for the replicas that are there.
"""

from ..protocol.errors import (
    InvalidReplicaAssignmentError,
    KafkaError,
    NoReassignmentInProgressError,
    UnknownTopicOrPartitionError,
    UnsupportedVersionError,
)
from ..storage.topic_partition import TopicPartition
from .context import ControllerContext

__all__ = ["refusal"]


def refusal(context: ControllerContext, partition: TopicPartition, target: tuple[int, ...] | None) -> KafkaError | None:
    """Why ``partition`` does not get the replicas ``target`` (None: those it had before the reassignment under way);
    None when it has them. In Kafka's order: the replicas are looked at before it is asked whether there is such a
    partition."""
    assignment = context.assignment(partition)
    if target is None:
        if not assignment.is_being_reassigned:
            return NoReassignmentInProgressError("No partition reassignment is in progress.")
        target = assignment.origin
    invalid = _why_invalid(context, partition, target)
    if invalid is not None:
        return InvalidReplicaAssignmentError(invalid)
    if not assignment.replicas:
        return UnknownTopicOrPartitionError("The partition does not exist.")
    if target != assignment.replicas or assignment.is_being_reassigned:
        return UnsupportedVersionError(f"Moving {partition} to other replicas is not supported by this broker.")
    return None


def _why_invalid(context: ControllerContext, partition: TopicPartition, target: tuple[int, ...]) -> str | None:
    if not target:
        return "Empty replica list specified in partition reassignment."
    if len(set(target)) != len(target):
        return f"Duplicate replica ids in partition reassignment replica list: {list(target)}"
    if any(broker_id < 0 for broker_id in target):
        return f"Invalid broker id in replica list: {list(target)}"
    live = context.live_ids
    adding = context.assignment(partition).reassign_to(target).adding
    if not set(adding) <= set(live):
        return (
            f"Replica assignment has brokers that are not alive. Replica list: {list(adding)}, live broker list: {live}"
        )
    return None
