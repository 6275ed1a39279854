"""Chooses the replica that a consumer should read from (KIP-392). Pure.

A leader may send a consumer to a follower in the consumer's own rack. The follower must be in sync, because the
consumer would fall behind with it, and must have the requested offset.
"""

from collections.abc import Callable
from typing import NamedTuple

from .partition import Leader, Partition

__all__ = ["ReplicaChoice", "nearest_replica"]

ReplicaChoice = Callable[[Partition, int, int], int | None]
"""``(partition, fetch offset, now in ms) -> broker id``; None: read here."""


class _Candidate(NamedTuple):
    """A replica, compared by preference."""

    log_end_offset: int
    caught_up_ms: int
    broker_id: int


def nearest_replica(
    rack: str,
    local_rack: str | None,
    rack_of: Callable[[int], str | None],
    is_reachable: Callable[[int], bool],
    partition: Partition,
    fetch_offset: int,
    now_ms: int,
) -> int | None:
    """The in-sync follower in ``rack`` with the highest LEO (Kafka: RackAwareReplicaSelector). None: read from the
    leader, this broker, because it is in that rack itself or no follower is suitable."""
    leader = partition.leader
    if leader is None or rack == local_rack:
        return None
    candidates = [
        candidate
        for candidate in _in_sync(leader, fetch_offset)
        if rack_of(candidate.broker_id) == rack and is_reachable(candidate.broker_id)
    ]
    return max(candidates).broker_id if candidates else None


def _in_sync(leader: Leader, fetch_offset: int) -> list[_Candidate]:
    members = leader.isr.members
    return [
        _Candidate(replica.log_end_offset, replica.last_caught_up_ms, broker_id)
        for broker_id, replica in leader.replicas.items()
        if broker_id in members and replica.log_start_offset <= fetch_offset <= replica.log_end_offset
    ]
