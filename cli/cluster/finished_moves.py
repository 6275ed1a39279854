"""Waits until moves of partitions are done."""

import time
from collections.abc import Collection, Mapping

from ...base.topic_partition import TopicPartition
from ...protocol.messages.list_partition_reassignments import OngoingPartitionReassignment
from ..verb import Call
from .moves import moves_under_way, replicas_of

__all__ = ["replicas_after_moves", "wait_for_moves"]

_PAUSE_S = 0.5
_LATE_S = 5.0
"""How long a broker may take to learn of the end of a move."""


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


def replicas_after_moves(
    call: Call,
    plan: Mapping[TopicPartition, tuple[int, ...] | None],
    ongoing: Collection[TopicPartition],
    limit_s: float,
) -> dict[TopicPartition, tuple[int, ...]]:
    """The replicas of the partitions, as a broker tells them.

    Brokers learn from the controller of the end of a move. While a partition that does not move has other replicas than
    planned, they are asked again, for up to ``limit_s`` and `_LATE_S`.
    """
    deadline = time.monotonic() + min(limit_s, _LATE_S)
    topics = {at.topic for at in plan}
    while True:
        current = replicas_of(call.cluster, topics)
        is_told = all(at in ongoing or current.get(at) == replicas for at, replicas in plan.items())
        if is_told or time.monotonic() >= deadline:
            return current
        time.sleep(_PAUSE_S)
