"""Decides which changes a leader may make to its partition's ISR and recovery state (AlterPartition, KIP-497). Pure."""

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from ..base.frozen import frozen
from ..base.topic_partition import TopicPartition
from ..protocol.errors import (
    FencedLeaderEpochError,
    IneligibleReplicaError,
    InvalidRequestError,
    InvalidUpdateVersionError,
    NotControllerError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from ..protocol.sentinels import NO_BROKER_EPOCH
from .context import ControllerContext
from .tree.leader_and_isr import LeaderAndIsr, LeaderRecoveryState

__all__ = ["IsrChange", "decide"]


@frozen
class IsrChange:
    """A change that a leader requests.

    ``isr``: broker id → the broker epoch (or NO_BROKER_EPOCH) under which that replica caught up (KIP-903), in the
    order in which the ISR is written. ``topic_id``: None when the request has none.
    """

    leader_epoch: int
    partition_epoch: int
    isr: Mapping[int, int]
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    topic_id: UUID | None = None


def decide(
    context: ControllerContext, broker_id: int, partition: TopicPartition, change: IsrChange
) -> LeaderAndIsr | None:
    """The state to write; None when the partition already has the state that broker ``broker_id`` requests.

    The leader epoch stays, because the leader does. The checks are in Kafka's order, with those of a KRaft controller
    added. Raises UnknownTopicIdError, UnknownTopicOrPartitionError, NotControllerError (the leader knows a newer
    controller's decisions), FencedLeaderEpochError, InvalidUpdateVersionError, InvalidRequestError,
    IneligibleReplicaError.
    """
    if change.topic_id is not None and context.topic_ids.get(partition.topic) != change.topic_id:
        raise UnknownTopicIdError(f"{partition.topic} has another topic id")
    leadership = context.leadership(partition)
    if leadership is None:
        raise UnknownTopicOrPartitionError(f"{partition} has no leader yet")
    current = leadership.leader_and_isr
    _check_epochs(current, partition, change)
    wanted = replace(current, isr=tuple(change.isr), leader_recovery_state=change.leader_recovery_state)
    if wanted == current and current.leader == broker_id:
        return None  # before partition epochs are compared, because the response to an earlier request may be lost
    if change.partition_epoch < current.partition_epoch:
        raise InvalidUpdateVersionError(
            f"{partition} has partition epoch {current.partition_epoch}, not {change.partition_epoch}"
        )
    _check_request(context, broker_id, partition, current, wanted)
    _check_members(context, partition, change)
    return wanted


def _check_epochs(current: LeaderAndIsr, partition: TopicPartition, change: IsrChange) -> None:
    if change.partition_epoch > current.partition_epoch or change.leader_epoch > current.leader_epoch:
        raise NotControllerError(f"{partition}: another broker must have been elected controller")
    if change.leader_epoch < current.leader_epoch:
        raise FencedLeaderEpochError(
            f"{partition} has leader epoch {current.leader_epoch}, {change.leader_epoch} is outdated"
        )


def _check_request(
    context: ControllerContext, broker_id: int, partition: TopicPartition, current: LeaderAndIsr, wanted: LeaderAndIsr
) -> None:
    """Refuse requests that no correct leader sends."""
    if current.leader != broker_id:
        raise InvalidRequestError(f"{partition} is led by broker {current.leader}, not by {broker_id}")
    if broker_id not in wanted.isr:
        raise InvalidRequestError(f"{partition}: the leader is missing in the ISR {list(wanted.isr)}")
    replicas = context.assignment(partition).replicas
    if any(member not in replicas for member in wanted.isr):
        raise InvalidRequestError(f"{partition}: not all of {list(wanted.isr)} are among its replicas {list(replicas)}")
    if wanted.leader_recovery_state is LeaderRecoveryState.RECOVERING:
        if len(wanted.isr) > 1:
            raise InvalidRequestError(f"{partition}: a recovering leader must be alone in the ISR")
        if current.leader_recovery_state is LeaderRecoveryState.RECOVERED:
            raise InvalidRequestError(f"{partition}: a recovered leader cannot become recovering again")


def _check_members(context: ControllerContext, partition: TopicPartition, change: IsrChange) -> None:
    """All members must be alive and not about to stop (KIP-841), with the same broker epoch (KIP-903)."""
    live = context.live_ids
    ineligible = [
        member
        for member, epoch in change.isr.items()
        if member not in live or epoch not in (NO_BROKER_EPOCH, context.broker_epoch(member))
    ]
    if ineligible:
        raise IneligibleReplicaError(f"{partition}: brokers {ineligible} may not be in the ISR, live are {live}")
