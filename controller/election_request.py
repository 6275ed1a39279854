"""Sorts the partitions of an ElectLeaders request into electable and refused ones. Pure."""

from collections.abc import Iterable
from typing import NamedTuple

from ..base.topic_partition import TopicPartition
from ..protocol.errors import (
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    InvalidTopicError,
    KafkaError,
    PreferredLeaderNotAvailableError,
    UnknownTopicOrPartitionError,
)
from .context import ControllerContext
from .leader_election import ElectionStrategy

__all__ = ["ElectionRequest", "outcome"]


class ElectionRequest(NamedTuple):
    """The partitions to elect leaders for, and the errors of the others."""

    electable: list[TopicPartition]
    refused: dict[TopicPartition, KafkaError]

    @classmethod
    def of(
        cls, context: ControllerContext, partitions: Iterable[TopicPartition], strategy: ElectionStrategy
    ) -> "ElectionRequest":
        """``strategy``: PREFERRED, for partitions that are not led by their first replica, or UNCLEAN, for partitions
        without a live leader."""
        request = cls([], {})
        for partition in dict.fromkeys(partitions):
            error = _refusal(context, partition, strategy)
            if error is None:
                request.electable.append(partition)
            else:
                request.refused[partition] = error
        return request


def outcome(context: ControllerContext, partition: TopicPartition, strategy: ElectionStrategy) -> int | KafkaError:
    """After an election: the leader of ``partition``, or the error when there is none."""
    leadership = context.leadership(partition)
    if leadership is not None and not _is_needed(context, partition, leadership.leader_and_isr.leader, strategy):
        return leadership.leader_and_isr.leader
    message = f"Failed to elect a leader for partition {partition}: no replica may lead ({strategy.value} election)."
    if strategy is ElectionStrategy.PREFERRED:
        return PreferredLeaderNotAvailableError(message)
    return EligibleLeadersNotAvailableError(message)


def _refusal(context: ControllerContext, partition: TopicPartition, strategy: ElectionStrategy) -> KafkaError | None:
    if not context.assignment(partition).replicas:
        return UnknownTopicOrPartitionError("The partition does not exist.")
    if context.is_queued_for_deletion(partition.topic):
        return InvalidTopicError("The topic is being deleted")
    leadership = context.leadership(partition)
    if leadership is None:
        return None  # it never had a leader
    if _is_needed(context, partition, leadership.leader_and_isr.leader, strategy):
        return None
    return ElectionNotNeededError("Leader election not needed for topic partition.")


def _is_needed(context: ControllerContext, partition: TopicPartition, leader: int, strategy: ElectionStrategy) -> bool:
    if strategy is ElectionStrategy.PREFERRED:
        return leader != context.assignment(partition).replicas[0]
    return leader not in context.live_ids
