"""Whether a broker can be stopped without making a partition unavailable."""

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from ...protocol.messages.update_metadata import UpdateMetadataPartitionState

__all__ = ["StopVerdict", "judge_stop", "why_unsafe"]

_MOST_NAMED = 20


@dataclass(slots=True)
class StopVerdict:
    """Attributes:
    reasons: for the first of the partitions that would suffer.
    partitions: the number of those partitions.
    without_spare: the number of partitions that suffer whenever any of their replicas stops, because they have no more
        replicas than min.insync.replicas. Waiting does not help them, so they do not count.
    """

    reasons: list[str] = field(default_factory=list)
    partitions: int = 0
    without_spare: int = 0

    @property
    def is_safe(self) -> bool:
        return not self.partitions


def why_unsafe(
    state: UpdateMetadataPartitionState, broker_id: int, min_isr: int, is_alive: Callable[[int], bool]
) -> str | None:
    """The effect on a partition if the broker stopped now; None if the partition goes on without it."""
    if broker_id not in state.isr:
        return None
    left = sum(1 for each in state.isr if each != broker_id and is_alive(each))
    if left == 0:
        return "would lose its leader"
    if left < min_isr:
        return f"would have {left} in-sync replicas, but min.insync.replicas is {min_isr}"
    return None


async def judge_stop(
    partitions: AsyncIterator[tuple[str, UpdateMetadataPartitionState]],
    broker_id: int,
    min_isr: Callable[[str], int],
    is_alive: Callable[[int], bool],
) -> StopVerdict:
    """``partitions``: all of the cluster, by topic. ``min_isr``: of a topic."""
    verdict = StopVerdict()
    async for topic, state in partitions:
        if broker_id not in state.isr:
            continue
        least = min_isr(topic)
        why = why_unsafe(state, broker_id, least, is_alive)
        if why is None:
            continue
        if len(state.replicas) <= max(least, 1):
            verdict.without_spare += 1
            continue
        verdict.partitions += 1
        if len(verdict.reasons) < _MOST_NAMED:
            verdict.reasons.append(f"{topic}-{state.partition_index} {why}")
    return verdict
