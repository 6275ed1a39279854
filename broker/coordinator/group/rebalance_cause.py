"""Why a group rebalances: a reason that can be counted, a text for people, and the member that caused it."""

from enum import Enum
from typing import NamedTuple

from .member import Member

__all__ = ["RebalanceCause", "RebalanceReason"]


class RebalanceReason(Enum):
    """The values are label values of metrics, so they stay as they are."""

    MEMBER_JOINED = "member_joined"
    MEMBER_REJOINED = "member_rejoined"
    """A member of the group sent a new JoinGroup: its subscription changed, or the leader wants a new assignment."""
    MEMBER_LEFT = "member_left"
    SESSION_EXPIRED = "session_expired"
    SYNC_TIMED_OUT = "sync_timed_out"
    STATIC_MEMBER_RETURNED = "static_member_returned"
    """A static member returned while a rebalance was running."""
    PROTOCOL_CHANGED = "protocol_changed"
    NO_LEADER = "no_leader"
    """The members came from a consumer group, which has no leader."""
    ASSIGNMENT_NOT_STORED = "assignment_not_stored"
    SIZE_LIMIT_LOWERED = "size_limit_lowered"


class RebalanceCause(NamedTuple):
    """``text`` names the member and may hold what its client sent. ``member``: None when no single member caused it."""

    reason: RebalanceReason
    text: str
    member: Member | None = None
