"""The timers of the members of consumer groups: their sessions, and the time in which they must give partitions back.

They follow from the records: a member that has to give partitions back gets its time with the record that says so.
"""

from collections.abc import Callable, Iterable

from .....base.timers import Scheduler, TimerHandle
from ..modern.sessions import Sessions
from .consumer_group import ConsumerGroup
from .heartbeat import STATIC_LEAVE_EPOCH
from .member import ConsumerMember
from .records import CurrentMember, GroupRecord, RecordKind, Removed
from .states import MemberState

__all__ = ["ConsumerGrace", "MemberTimers", "no_grace"]

ConsumerGrace = Callable[[ConsumerMember], int]
"""How many more ms a member gets whose time is over; 0: none."""


def no_grace(member: ConsumerMember) -> int:
    """On a clock that nobody moves."""
    return 0


class MemberTimers:
    """``session_timeout_ms``: of a group by its id; it may change.

    ``remove`` is called with a group, a member id and the reason in words, when a time is over and `grace_ms` gives the
    member no more of it. ``pause_ms``: how long no member of a group, by its id, can be removed.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        session_timeout_ms: Callable[[str], int],
        remove: Callable[[ConsumerGroup, str, str], None],
        pause_ms: Callable[[str], int],
    ) -> None:
        self._scheduler = scheduler
        self._session_timeout_ms = session_timeout_ms
        self._remove = remove
        self._pause_ms = pause_ms
        self.grace: ConsumerGrace = no_grace
        self._sessions = Sessions(scheduler, self.timeout_ms, self._session_ended, self.grace_ms)
        self._revocations: dict[str, dict[str, TimerHandle]] = {}

    def begin(self, group: ConsumerGroup) -> None:
        """The group was loaded: all members get a new session, and new time to give partitions back."""
        for member_id, member in group.members.items():
            self.keep_alive(group, member_id)
            self._follow(group, member.current)

    def end(self, group: ConsumerGroup) -> None:
        """The group was deleted, or is coordinated by another broker."""
        self._sessions.end_all(group)
        for timer in self._revocations.pop(group.group_id, {}).values():
            timer.cancel()

    def begin_anew(self, group: ConsumerGroup, is_alive: Callable[[ConsumerMember], bool]) -> None:
        """Begin the times of members that are alive anew: their clients could not see that the clock moved."""
        for member_id, member in group.members.items():
            if not is_alive(member):
                continue
            if self._sessions.left_s(group, member_id) is not None:
                self.keep_alive(group, member_id)
            self._follow(group, member.current)

    def keep_alive(self, group: ConsumerGroup, member_id: str) -> None:
        """Extend the member's session."""
        self._sessions.keep_alive(group, member_id)

    def grace_ms(self, group: ConsumerGroup, member_id: str) -> int:
        """How many more ms a member gets whose time is over; 0: it has to be removed."""
        return self.grace(group.members[member_id]) or self._pause_ms(group.group_id)

    def timeout_ms(self, group: ConsumerGroup, member_id: str) -> int:
        """How long the member may be silent."""
        classic = group.members[member_id].metadata.classic
        return self._session_timeout_ms(group.group_id) if classic is None else classic.session_timeout_ms

    def session_left_s(self, group: ConsumerGroup, member_id: str) -> float | None:
        """The time until the member's session ends; None: it has none."""
        return self._sessions.left_s(group, member_id)

    def follow(self, group: ConsumerGroup, records: Iterable[GroupRecord]) -> None:
        """The group has changed by these records."""
        for record in records:
            if isinstance(record, CurrentMember):
                self._follow(group, record)
            elif isinstance(record, Removed) and record.kind is RecordKind.MEMBER:
                self._forget(group, record.name)

    def _follow(self, group: ConsumerGroup, current: CurrentMember) -> None:
        self._end_revocation(group, current.member_id)
        if current.epoch == STATIC_LEAVE_EPOCH or current.state is not MemberState.UNREVOKED_PARTITIONS:
            return  # a static member that left for a while has given them back; only its session may end
        member = group.members.get(current.member_id)
        if member is None or member.is_classic:
            return  # a member of the classic protocol gives partitions back by its next JoinGroup, which has its timer
        self._expect_partitions(group, current, max(member.metadata.rebalance_timeout_ms, 0))

    def _expect_partitions(self, group: ConsumerGroup, current: CurrentMember, timeout_ms: int) -> None:
        member_id = current.member_id
        timer = self._scheduler.call_later(timeout_ms / 1000, self._revocation_due, group, member_id, current.epoch)
        self._revocations.setdefault(group.group_id, {})[member_id] = timer

    def _forget(self, group: ConsumerGroup, member_id: str) -> None:
        self._sessions.end(group, member_id)
        self._end_revocation(group, member_id)

    def _end_revocation(self, group: ConsumerGroup, member_id: str) -> None:
        timer = self._revocations.get(group.group_id, {}).pop(member_id, None)
        if timer is not None:
            timer.cancel()

    def _session_ended(self, group: ConsumerGroup, member_id: str) -> None:
        self._remove(group, member_id, "its session has ended without a heartbeat")

    def _revocation_due(self, group: ConsumerGroup, member_id: str, epoch: int) -> None:
        self._revocations[group.group_id].pop(member_id, None)
        member = group.members[member_id]
        if member.current.state is not MemberState.UNREVOKED_PARTITIONS or member.epoch != epoch:
            return
        if grace_ms := self.grace_ms(group, member_id):
            self._expect_partitions(group, member.current, grace_ms)
        else:
            self._remove(group, member_id, "it has not given partitions back within its rebalance timeout")
