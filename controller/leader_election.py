"""Chooses the next leader of a partition (Kafka's PartitionLeaderElectionAlgorithms and Election). Pure.

Each strategy returns the new leader and ISR, or None when no replica may lead. ``is_online`` tells by broker id
whether that replica is on a live broker and not in a failed or full log directory.
"""

from collections.abc import Callable, Collection, Sequence
from enum import Enum

from ..base.frozen import frozen
from .tree.leader_and_isr import LeaderAndIsr
from .tree.replica_assignment import ReplicaAssignment

__all__ = [
    "Election",
    "ElectionStrategy",
    "elect_after_restarts",
    "elect_initial",
    "elect_on_controlled_shutdown",
    "elect_on_reassignment",
    "elect_preferred",
    "elect_when_offline",
]


class ElectionStrategy(Enum):
    OFFLINE = "offline"
    UNCLEAN = "unclean"
    """Like OFFLINE, but also allows a leader outside the ISR, whatever the topic's settings."""
    REASSIGN = "reassign"
    PREFERRED = "preferred"
    CONTROLLED_SHUTDOWN = "controlled shutdown"


@frozen
class Election:
    """``recipients``: the replicas to be told."""

    leader_and_isr: LeaderAndIsr | None
    recipients: tuple[int, ...]


def elect_initial(assignment: ReplicaAssignment, is_online: Callable[[int], bool]) -> Election:
    """For a new partition: the first live replica leads, and all live replicas are in sync."""
    live = tuple(filter(is_online, assignment.replicas))
    return Election(LeaderAndIsr(live[0], live) if live else None, live)


def elect_when_offline(
    assignment: ReplicaAssignment,
    current: LeaderAndIsr,
    is_online: Callable[[int], bool],
    *,
    unclean_allowed: bool,
    marks_recovery: bool = True,
) -> Election:
    """For a partition without a live leader: the first live replica in the ISR.

    If there is none and ``unclean_allowed``, the first live replica leads. Then records may be lost, and the partition
    is RECOVERING if ``marks_recovery``.
    """
    live = tuple(filter(is_online, assignment.replicas))
    in_sync = [replica for replica in live if replica in current.isr]
    if in_sync:
        isr = tuple(filter(is_online, current.isr))
        return Election(current.with_leader_and_isr(in_sync[0], isr), live)
    if unclean_allowed and live:
        if marks_recovery:
            return Election(current.with_recovering_leader(live[0]), live)
        return Election(current.with_leader_and_isr(live[0], live[:1]), live)
    return Election(None, live)


def elect_after_restarts(
    assignment: ReplicaAssignment,
    current: LeaderAndIsr,
    is_online: Callable[[int], bool],
    restarted: Sequence[int],
) -> Election:
    """For members of the ISR that were restarted unnoticed: members that stayed up remain in the ISR, and one leads.

    If no member stayed up, the member restarted first leads (``restarted`` is in that order), with a new epoch: it may
    have records that the members restarted later have lost, and only a new epoch lets followers find that out.
    """
    live = tuple(filter(is_online, assignment.replicas))
    staying = [replica for replica in live if replica in current.isr and replica not in restarted]
    if not staying:
        back = [replica for replica in restarted if replica in live and replica in current.isr]
        has_followers = len(assignment.replicas) > 1  # without followers the epoch can stay
        return Election(current.with_leader(back[0]) if back and has_followers else None, live)
    leader = current.leader if current.leader in staying else staying[0]
    isr = tuple(member for member in current.isr if member not in restarted)
    return Election(current.with_leader_and_isr(leader, isr), live)


def elect_on_reassignment(
    assignment: ReplicaAssignment, current: LeaderAndIsr, is_online: Callable[[int], bool]
) -> Election:
    """The first target replica that is live and in sync."""
    for replica in assignment.target:
        if is_online(replica) and replica in current.isr:
            return Election(current.with_leader(replica), assignment.target)
    return Election(None, assignment.target)


def elect_preferred(assignment: ReplicaAssignment, current: LeaderAndIsr, is_online: Callable[[int], bool]) -> Election:
    """The first replica of the assignment, if it is live and in sync."""
    preferred = assignment.replicas[0]
    if is_online(preferred) and preferred in current.isr:
        return Election(current.with_leader(preferred), assignment.replicas)
    return Election(None, assignment.replicas)


def elect_on_controlled_shutdown(
    assignment: ReplicaAssignment,
    current: LeaderAndIsr,
    is_online_or_shutting_down: Callable[[int], bool],
    shutting_down: Collection[int],
) -> Election:
    """The first in-sync replica that is not shutting down; brokers that shut down leave the ISR."""
    reachable = tuple(filter(is_online_or_shutting_down, assignment.replicas))
    for replica in reachable:
        if replica in current.isr and replica not in shutting_down:
            isr = tuple(member for member in current.isr if member not in shutting_down)
            return Election(current.with_leader_and_isr(replica, isr), reachable)
    return Election(None, reachable)
