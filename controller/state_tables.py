"""The states of partitions and replicas as the controller sees them, and the legal moves between them."""

from enum import Enum
from typing import NamedTuple

from ..base.topic_partition import TopicPartition

__all__ = ["PartitionReplica", "PartitionState", "ReplicaState", "may_move_partition", "may_move_replica"]


class PartitionState(Enum):
    NON_EXISTENT = "NonExistentPartition"
    """Never created, or deleted."""
    NEW = "NewPartition"
    """Has replicas assigned, but never had a leader."""
    ONLINE = "OnlinePartition"
    """Has a leader."""
    OFFLINE = "OfflinePartition"
    """Its leader died and no other could be elected yet."""


class ReplicaState(Enum):
    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    """Its broker was not told yet; it can only become a follower."""
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    """Its broker is down, its log directory failed, or it is about to be deleted."""
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
    """Deletion failed or cannot start now; it is retried when the broker comes back."""


class PartitionReplica(NamedTuple):
    """One replica: a partition on a broker."""

    partition: TopicPartition
    broker_id: int

    @property
    def topic(self) -> str:
        return self.partition.topic


_PARTITION_FROM: dict[PartitionState, frozenset[PartitionState]] = {
    PartitionState.NEW: frozenset({PartitionState.NON_EXISTENT}),
    PartitionState.ONLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
    PartitionState.OFFLINE: frozenset({PartitionState.NEW, PartitionState.ONLINE, PartitionState.OFFLINE}),
    PartitionState.NON_EXISTENT: frozenset({PartitionState.OFFLINE}),
}

_LIVING = frozenset({ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE})
_REPLICA_FROM: dict[ReplicaState, frozenset[ReplicaState]] = {
    ReplicaState.NEW: frozenset({ReplicaState.NON_EXISTENT}),
    ReplicaState.ONLINE: _LIVING,
    ReplicaState.OFFLINE: _LIVING,
    ReplicaState.DELETION_STARTED: frozenset({ReplicaState.OFFLINE}),
    ReplicaState.DELETION_SUCCESSFUL: frozenset({ReplicaState.DELETION_STARTED}),
    ReplicaState.DELETION_INELIGIBLE: frozenset({ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED}),
    ReplicaState.NON_EXISTENT: frozenset({ReplicaState.DELETION_SUCCESSFUL}),
}


def may_move_partition(current: PartitionState, target: PartitionState) -> bool:
    return current in _PARTITION_FROM[target]


def may_move_replica(current: ReplicaState, target: ReplicaState) -> bool:
    return current in _REPLICA_FROM[target]
