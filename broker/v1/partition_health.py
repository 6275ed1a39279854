"""Judges partitions by the controller's metadata: offline, under-replicated, below the minimum of in-sync replicas."""

from collections.abc import Callable, Collection
from dataclasses import dataclass

from ...protocol.messages.update_metadata import UpdateMetadataPartitionState

__all__ = ["HealthCounts", "is_offline", "is_under_min_isr", "is_under_replicated", "offline_replicas"]


def is_offline(state: UpdateMetadataPartitionState, is_alive: Callable[[int], bool]) -> bool:
    """Whether no live broker leads the partition."""
    return not is_alive(state.leader)


def is_under_replicated(state: UpdateMetadataPartitionState) -> bool:
    """Whether a replica is not in sync."""
    return len(state.isr) < len(state.replicas)


def is_under_min_isr(state: UpdateMetadataPartitionState, min_isr: int) -> bool:
    """Whether producers with acks=all are refused. ``min_isr`` counts as far as there are replicas."""
    return len(state.isr) < min(min_isr, len(state.replicas))


def offline_replicas(state: UpdateMetadataPartitionState, is_alive: Callable[[int], bool]) -> tuple[int, ...]:
    """Return the replicas on dead brokers or failed log directories."""
    return tuple(each for each in state.replicas if each in state.offline_replicas or not is_alive(each))


@dataclass(slots=True)
class HealthCounts:
    """Counts over the partitions of a topic, or of the cluster."""

    partitions: int = 0
    replication_factor: int = 0
    offline: int = 0
    under_replicated: int = 0
    under_min_isr: int = 0

    def add(
        self, states: Collection[UpdateMetadataPartitionState], is_alive: Callable[[int], bool], min_isr: int
    ) -> None:
        """Count the partitions of a topic."""
        self.partitions += len(states)
        for state in states:
            self.replication_factor = max(self.replication_factor, len(state.replicas))
            self.offline += is_offline(state, is_alive)
            self.under_replicated += is_under_replicated(state)
            self.under_min_isr += is_under_min_isr(state, min_isr)
