"""Brokers that were restarted while nobody was controller: they are not in sync any more.

A controller that sees a broker's epoch change takes the broker for dead and come back: others lead, and it leaves the
ISRs, for it may have lost what it had not synced. Whoever becomes controller finds such a broker up, and perhaps still
leader of partitions whose followers have records that it lost. But a broker's epoch is the zxid of its registration:
when it is later than the last change of a partition's state, the broker was restarted (or lost its session) since
then; and of those that were restarted the one with the lowest has been up the longest. Kafka does not look at this.
"""

import logging
from collections.abc import Mapping

from ..base.topic_partition import TopicPartition
from .context import ControllerContext
from .leader_election import elect_after_restarts
from .tree.cluster_tree import ClusterTree
from .tree.leader_and_isr import LeaderAndIsr, PartitionLeadership

__all__ = ["settle_missed_restarts"]

logger = logging.getLogger(__name__)


async def settle_missed_restarts(
    context: ControllerContext, tree: ClusterTree, written_at: Mapping[TopicPartition, int]
) -> None:
    """At a term's begin, before any broker is told anything. ``written_at``: the zxid of each partition's state."""
    wanted: dict[TopicPartition, LeaderAndIsr] = {}
    for partition, zxid in written_at.items():
        if (state := _without_restarted(context, partition, zxid)) is not None:
            wanted[partition] = state
    written, _ = await tree.update_partition_states(wanted, context.epoch, context.epoch_version)
    for partition, state in written.items():
        logger.info(
            "partition %s: leader %d, ISR %s, leader epoch %d (others were restarted without a controller)",
            partition,
            state.leader,
            list(state.isr),
            state.leader_epoch,
        )
        context.put_leadership(partition, PartitionLeadership(state, context.epoch))


def _without_restarted(context: ControllerContext, partition: TopicPartition, zxid: int) -> LeaderAndIsr | None:
    leadership = context.leadership(partition)
    if leadership is None:
        return None
    current = leadership.leader_and_isr
    restarted = sorted(
        (
            member
            for member in current.isr
            if context.broker(member) is not None and context.broker_epoch(member) > zxid
        ),
        key=context.broker_epoch,
    )
    if not restarted:
        return None

    def is_online(broker_id: int) -> bool:
        return context.is_replica_online(broker_id, partition)

    return elect_after_restarts(context.assignment(partition), current, is_online, restarted).leader_and_isr
