"""Decides which leaderships return to preferred replicas (Kafka's AutoPreferredReplicaLeaderElection). Pure."""

from ..base.frozen import frozen
from ..base.topic_partition import TopicPartition
from .context import ControllerContext
from .leader_election import elect_preferred

__all__ = ["FIRST_CHECK_SECONDS", "LeaderBalance", "partitions_to_give_back"]

FIRST_CHECK_SECONDS = 5.0
"""Time from the election of a controller to its first check."""


@frozen
class LeaderBalance:
    """``leader.imbalance.check.interval.seconds`` and ``leader.imbalance.per.broker.percentage``."""

    interval_seconds: int
    percentage: int


def partitions_to_give_back(context: ControllerContext, percentage: int) -> list[TopicPartition]:
    """The partitions whose preferred replica can lead them again.

    Only brokers count that do not lead more than ``percentage`` of the partitions they are preferred for. A partition
    without a leader counts as led by another broker.
    """
    preferred: dict[int, list[TopicPartition]] = {}
    for partition in context.all_partitions:
        replicas = context.assignment(partition).replicas
        if replicas and not context.is_queued_for_deletion(partition.topic):
            preferred.setdefault(replicas[0], []).append(partition)
    wanted: list[TopicPartition] = []
    for broker_id, partitions in preferred.items():
        elsewhere = [partition for partition in partitions if _is_led_elsewhere(context, partition, broker_id)]
        if len(elsewhere) * 100 > percentage * len(partitions):
            wanted += [partition for partition in elsewhere if _can_lead(context, partition)]
    return wanted


def _is_led_elsewhere(context: ControllerContext, partition: TopicPartition, broker_id: int) -> bool:
    leadership = context.leadership(partition)
    return leadership is not None and leadership.leader_and_isr.leader != broker_id


def _can_lead(context: ControllerContext, partition: TopicPartition) -> bool:
    leadership = context.leadership(partition)
    assert leadership is not None
    election = elect_preferred(
        context.assignment(partition),
        leadership.leader_and_isr,
        lambda broker_id: context.is_replica_online(broker_id, partition),
    )
    return election.leader_and_isr is not None
