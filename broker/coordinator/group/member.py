"""A member of a group: a consumer, a Connect worker, or whatever speaks the group protocol."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from .results import JoinResult, MemberSummary, SyncResult

__all__ = ["JoinReply", "Member", "MemberProtocol", "SyncReply", "Timer"]

JoinReply = Callable[[JoinResult], None]
SyncReply = Callable[[SyncResult], None]


class Timer(Protocol):
    """A pending call, as ``loop.call_later`` returns it."""

    def cancel(self) -> None: ...


class MemberProtocol(NamedTuple):
    """An assignment strategy the member supports, with the metadata it sends along; opaque to the broker."""

    name: str
    metadata: bytes


@dataclass(slots=True, eq=False)
class Member:
    """One member. ``protocols`` are in its order of preference.

    A parked JoinGroup or SyncGroup is ``join_reply`` or ``sync_reply``: called once with the answer, then dropped.
    Only :class:`~.group.Group` sets ``join_reply``, since it counts who is waiting.
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
    """It has never been told its member id, so that a parked join must not keep it alive for ever."""

    session_deadline: float = 0.0
    """When the session ends, on the scheduler's clock, in seconds. Heartbeats only move this number."""
    session_timer_due: float = 0.0
    session_timer: Timer | None = None

    @property
    def is_static(self) -> bool:
        """Whether it has a ``group.instance.id`` (KIP-345)."""
        return self.group_instance_id is not None

    @property
    def is_awaiting_join(self) -> bool:
        """Whether a JoinGroup of it is parked."""
        return self.join_reply is not None

    @property
    def is_awaiting_sync(self) -> bool:
        """Whether a SyncGroup of it is parked."""
        return self.sync_reply is not None

    @property
    def is_excused_from_heartbeats(self) -> bool:
        """A parked request shows that the member lives; a new one's join is bounded all the same."""
        return not self.is_new and (self.join_reply is not None or self.sync_reply is not None)

    def metadata(self, protocol_name: str) -> bytes:
        """The metadata it sent for a protocol it supports (KeyError else)."""
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        raise KeyError(protocol_name)

    def vote(self, candidates: frozenset[str]) -> str:
        """The first of its protocols that is a candidate; candidates are supported by every member."""
        return next(protocol.name for protocol in self.protocols if protocol.name in candidates)

    def answer_sync(self, result: SyncResult) -> bool:
        """Answer the parked SyncGroup, if there is one; whether there was."""
        reply, self.sync_reply = self.sync_reply, None
        if reply is None:
            return False
        reply(result)
        return True

    def summary(self, protocol_name: str | None) -> MemberSummary:
        """For DescribeGroups; without a protocol its metadata and assignment stay out."""
        return MemberSummary(
            self.member_id,
            self.group_instance_id,
            self.client_id,
            self.client_host,
            self.metadata(protocol_name) if protocol_name is not None else b"",
            self.assignment if protocol_name is not None else b"",
        )
