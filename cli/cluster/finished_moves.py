"""Waits until moves of partitions are done."""

import time
from collections.abc import Collection

from ...base.topic_partition import TopicPartition
from ...protocol.messages.list_partition_reassignments import OngoingPartitionReassignment
from ..verb import Call
from .moves import moves_under_way

__all__ = ["wait_for_moves"]

_PAUSE_S = 0.5


def wait_for_moves(
    call: Call, partitions: Collection[TopicPartition], limit_s: float
) -> dict[TopicPartition, OngoingPartitionReassignment]:
    """Wait until none of the partitions moves, or the time is over. Returns the moves that are still under way."""
    deadline = time.monotonic() + limit_s
    left = total = len(partitions)
    progress = call.output.progress(
        lambda elapsed_s: f"{total - left:,} of {total:,} moves done after {elapsed_s:.0f} s",
        lambda: (total - left) / total if total else None,
    )
    try:
        while True:
            ongoing = moves_under_way(call.cluster, round(call.options.timeout * 1000))
            left = sum(at in ongoing for at in partitions)
            if not left or time.monotonic() >= deadline:
                return ongoing
            progress.tick()
            time.sleep(_PAUSE_S)
    finally:
        progress.clear()
