"""The states of a group and the legal moves between them (Kafka's GroupState)."""

from collections.abc import Mapping
from enum import Enum

__all__ = ["LEGAL_PREVIOUS_STATES", "GroupState", "IllegalGroupTransitionError", "may_move"]


class GroupState(Enum):
    """The state of a group. The value is the name in DescribeGroups and ListGroups."""

    EMPTY = "Empty"
    """No members. The group exists as long as it has offsets. A join starts a rebalance."""

    PREPARING_REBALANCE = "PreparingRebalance"
    """JoinGroups are parked until all members have joined or the rebalance timeout is over. Heartbeats get
    REBALANCE_IN_PROGRESS; commits of the previous generation are accepted."""

    COMPLETING_REBALANCE = "CompletingRebalance"
    """A generation exists; SyncGroups are parked until the leader's assignment is stored. Commits are rejected."""

    STABLE = "Stable"
    """Members can fetch their assignments. A member that leaves, fails or joins with a change starts a rebalance."""

    DEAD = "Dead"
    """Deleted, expired or moved to another broker: members must find their coordinator again."""


class IllegalGroupTransitionError(RuntimeError):
    """A move that the table forbids: a bug in the caller. The group is unchanged."""


LEGAL_PREVIOUS_STATES: Mapping[GroupState, frozenset[GroupState]] = {
    GroupState.EMPTY: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.PREPARING_REBALANCE: frozenset({GroupState.EMPTY, GroupState.STABLE, GroupState.COMPLETING_REBALANCE}),
    GroupState.COMPLETING_REBALANCE: frozenset({GroupState.PREPARING_REBALANCE}),
    GroupState.STABLE: frozenset({GroupState.COMPLETING_REBALANCE}),
    GroupState.DEAD: frozenset(GroupState),
}
"""State → states from which a group may enter it."""


def may_move(previous: GroupState, target: GroupState) -> bool:
    """Whether a group may move from ``previous`` to ``target``."""
    return previous in LEGAL_PREVIOUS_STATES[target]
