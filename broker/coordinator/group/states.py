"""The states of a group and the legal moves between them (Kafka's GroupState)."""

from collections.abc import Mapping
from enum import Enum

__all__ = ["LEGAL_PREVIOUS_STATES", "GroupState", "IllegalGroupTransitionError", "may_move"]


class GroupState(Enum):
    """Where a group is in its life. The value is the name that clients see in DescribeGroups and ListGroups."""

    EMPTY = "Empty"
    """No members. It lives on while it has offsets, or only ever committed offsets. A join starts a rebalance."""

    PREPARING_REBALANCE = "PreparingRebalance"
    """Joins are parked until all members came back or time is up. Heartbeats say REBALANCE_IN_PROGRESS, commits of the
    previous generation are still taken."""

    COMPLETING_REBALANCE = "CompletingRebalance"
    """A generation exists; syncs are parked until its leader's assignment is stored. Commits are turned away."""

    STABLE = "Stable"
    """Every member may have its assignment. Leaving, failing, or a join that changes something starts a rebalance."""

    DEAD = "Dead"
    """Deleted, expired or handed to another broker: its members are told to look for their coordinator again."""


class IllegalGroupTransitionError(RuntimeError):
    """A move that the table forbids: a bug of the caller, and the group is unchanged."""


LEGAL_PREVIOUS_STATES: Mapping[GroupState, frozenset[GroupState]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.PREPARING_REBALANCE: frozenset({GroupState.EMPTY, GroupState.STABLE, GroupState.COMPLETING_REBALANCE}),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING_REBALANCE}),
    GroupState.DEAD: frozenset(GroupState),
}
"""State → states from which a group may move there."""


def may_move(previous: GroupState, target: GroupState) -> bool:
    """Whether a group may go from ``previous`` to ``target``."""
    return previous in LEGAL_PREVIOUS_STATES[target]
