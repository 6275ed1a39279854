"""Removes from the ISRs the brokers that were restarted while there was no controller.

Why: a restarted broker may have lost records that it had not synced. A controller that notices the restart moves
leadership and shrinks ISRs, but a new controller finds the broker alive, perhaps still as a leader.
How: a broker epoch is the zxid of the registration. If it is later than the last change of a partition's state, the
broker was restarted (or lost its session) since then. The lowest such epoch belongs to the broker restarted first.
Kafka does not check this.
"""

import logging
from collections.abc import Mapping

from ..base.gathered_lines import log_gathered
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
    """Runs first at the start of a term. ``written_at``: the zxid of each partition's state."""
    wanted: dict[TopicPartition, LeaderAndIsr] = {}
    for partition, zxid in written_at.items():
        if (state := _without_restarted(context, partition, zxid)) is not None:
            wanted[partition] = state
    written, _ = await tree.update_partition_states(wanted, context.epoch, context.epoch_version)
    why = "others were restarted without a controller"
    changes = [f"partition {partition}: {state.in_words()} ({why})" for partition, state in written.items()]
    log_gathered(logger, logging.INFO, "controller.missed-restart", changes)
    for partition, state in written.items():
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
