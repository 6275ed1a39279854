"""A member of a group: a consumer, a Connect worker, or another client of the group protocol."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from ....base.timers import TimerHandle
from .results import JoinResult, MemberSummary, SyncResult

__all__ = ["JoinReply", "Member", "MemberProtocol", "SyncReply"]

JoinReply = Callable[[JoinResult], None]
SyncReply = Callable[[SyncResult], None]


class MemberProtocol(NamedTuple):
    """An assignment strategy the member supports, with the metadata it sends along; opaque to the broker."""

    name: str
    metadata: bytes


@dataclass(slots=True, eq=False)
class Member:
    """One member. ``protocols`` are in its order of preference.

    ``join_reply`` and ``sync_reply`` answer a parked JoinGroup or SyncGroup; each is called once, then dropped.
    Only :class:`~.group.Group` sets ``join_reply``, because it counts the parked JoinGroups.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[MemberProtocol, ...]
    assignment: bytes = b""

    join_reply: JoinReply | None = None
    sync_reply: SyncReply | None = None
    is_new: bool = False
    """It does not know its member id yet and cannot send heartbeats, so its parked JoinGroup is bounded in time."""

    session_deadline: float = 0.0
    """When the session ends, in seconds of the scheduler's clock. A heartbeat only moves this number."""
    session_timer_due: float = 0.0
    session_timer: TimerHandle | None = None

    @property
    def is_static(self) -> bool:
        """Whether it has a ``group.instance.id`` (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        """Whether it has a parked JoinGroup."""
        return self.join_reply is not None

    @property
    def is_excused_from_heartbeats(self) -> bool:
        """Whether its session does not expire now: it has a parked request. (A new member's JoinGroup can expire.)"""
        return not self.is_new and (self.join_reply is not None or self.sync_reply is not None)

    def metadata(self, protocol_name: str) -> bytes:
        """The metadata it sent for a protocol. Raises KeyError when it does not support the protocol."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        raise KeyError(protocol_name)

    def vote(self, candidates: frozenset[str]) -> str:
        """Its first protocol among the candidates, which every member supports."""
        return next(protocol.name for protocol in self.protocols if protocol.name in candidates)

    def answer_sync(self, result: SyncResult) -> bool:
        """Answer the parked SyncGroup. Returns whether there was one."""
        reply, self.sync_reply = self.sync_reply, None
        if reply is None:
            return False
        reply(result)
        return True

    def cancel_session_timer(self) -> None:
        """End its session."""
        if self.session_timer is not None:
            self.session_timer.cancel()
            self.session_timer = None

    def summary(self, protocol_name: str | None) -> MemberSummary:
        """For DescribeGroups; without a protocol the metadata and assignment are empty."""
        return MemberSummary(
            self.member_id,
            self.group_instance_id,
            self.client_id,
            self.client_host,
            self.metadata(protocol_name) if protocol_name is not None else b"",
            self.assignment if protocol_name is not None else b"",
        )
