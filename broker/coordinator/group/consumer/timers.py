"""The timers of the members of consumer groups: their sessions, and the time in which they must give partitions back.

They follow from the records: a member that has to give partitions back gets its time with the record that says so.
A session's timer compares the member's deadline when it fires, so that a heartbeat only moves a number.
"""

from collections.abc import Callable, Iterable

from .....base.timers import Scheduler, TimerHandle
from .consumer_group import ConsumerGroup
from .records import CurrentMember, GroupRecord, RecordKind, Removed
from .states import MemberState

__all__ = ["MemberTimers"]


class MemberTimers:
    """``session_timeout_ms``: of a group by its id; it may change.

    ``remove`` is called with a group, a member id and the reason in words, when a time is over.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        session_timeout_ms: Callable[[str], int],
        remove: Callable[[ConsumerGroup, str, str], None],
    ) -> None:
        self._scheduler = scheduler
        self._session_timeout_ms = session_timeout_ms
        self._remove = remove
        self._sessions: dict[str, dict[str, _Session]] = {}
        """Group id → member id → session"""
        self._revocations: dict[str, dict[str, TimerHandle]] = {}

    def begin(self, group: ConsumerGroup) -> None:
        """The group was loaded: all members get a new session, and new time to give partitions back."""
        for member_id, member in group.members.items():
            self.keep_alive(group, member_id)
            self._follow(group, member.current)

    def end(self, group: ConsumerGroup) -> None:
        """The group was deleted, or is coordinated by another broker."""
        for session in self._sessions.pop(group.group_id, {}).values():
            session.timer.cancel()
        for timer in self._revocations.pop(group.group_id, {}).values():
            timer.cancel()

    def keep_alive(self, group: ConsumerGroup, member_id: str) -> None:
        """Extend the member's session."""
        sessions = self._sessions.setdefault(group.group_id, {})
        classic = group.members[member_id].metadata.classic
        timeout_ms = self._session_timeout_ms(group.group_id) if classic is None else classic.session_timeout_ms
        deadline_s = self._scheduler.time() + timeout_ms / 1000
        session = sessions.get(member_id)
        if session is not None and session.due_s <= deadline_s:
            session.deadline_s = deadline_s
            return
        if session is not None:  # the session timeout is shorter now, or that of the other protocol
            session.timer.cancel()
        timer = self._scheduler.call_at(deadline_s, self._session_due, group, member_id)
        sessions[member_id] = _Session(deadline_s, timer)

    def follow(self, group: ConsumerGroup, records: Iterable[GroupRecord]) -> None:
        """The group has changed by these records."""
        for record in records:
            if isinstance(record, CurrentMember):
                self._follow(group, record)
            elif isinstance(record, Removed) and record.kind is RecordKind.MEMBER:
                self._forget(group, record.name)

    def _follow(self, group: ConsumerGroup, current: CurrentMember) -> None:
        self._end_revocation(group, current.member_id)
        member = group.members.get(current.member_id)
        if member is None or member.is_classic or current.state is not MemberState.UNREVOKED_PARTITIONS:
            return  # a member of the classic protocol gives partitions back by its next JoinGroup, which has its timer
        timeout_ms = member.metadata.rebalance_timeout_ms
        timer = self._scheduler.call_later(
            max(timeout_ms, 0) / 1000, self._revocation_due, group, current.member_id, current.epoch
        )
        self._revocations.setdefault(group.group_id, {})[current.member_id] = timer

    def _forget(self, group: ConsumerGroup, member_id: str) -> None:
        session = self._sessions.get(group.group_id, {}).pop(member_id, None)
        if session is not None:
            session.timer.cancel()
        self._end_revocation(group, member_id)

    def _end_revocation(self, group: ConsumerGroup, member_id: str) -> None:
        timer = self._revocations.get(group.group_id, {}).pop(member_id, None)
        if timer is not None:
            timer.cancel()

    def _session_due(self, group: ConsumerGroup, member_id: str) -> None:
        session = self._sessions[group.group_id][member_id]
        if self._scheduler.time() < session.deadline_s:
            session.due_s = session.deadline_s
            session.timer = self._scheduler.call_at(session.due_s, self._session_due, group, member_id)
            return
        del self._sessions[group.group_id][member_id]
        self._remove(group, member_id, "its session has ended without a heartbeat")

    def _revocation_due(self, group: ConsumerGroup, member_id: str, epoch: int) -> None:
        self._revocations[group.group_id].pop(member_id, None)
        current = group.members[member_id].current
        if current.state is MemberState.UNREVOKED_PARTITIONS and current.epoch == epoch:
            self._remove(group, member_id, "it has not given partitions back within its rebalance timeout")


class _Session:
    """``deadline_s``: when the session ends, by the scheduler's clock. ``due_s``: when its timer fires."""

    __slots__ = ("deadline_s", "due_s", "timer")

    def __init__(self, deadline_s: float, timer: TimerHandle) -> None:
        self.deadline_s = self.due_s = deadline_s
        self.timer = timer
