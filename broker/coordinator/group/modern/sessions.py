"""The sessions of members: a member without a heartbeat for its session timeout is removed.

A session's timer compares the member's deadline when it fires, so that a heartbeat only moves a number. One session
ends in a turn of the event loop, because a client that is gone may have had thousands of members.
"""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from .....base.timers import Scheduler, TimerHandle
from ..base import GroupBase

__all__ = ["Sessions"]

G = TypeVar("G", bound=GroupBase)


class Sessions(Generic[G]):
    """``timeout_ms``: of a member of a group; it may change. ``ended`` is called with a group and a member id.

    ``grace_ms``: how many more ms a member gets whose session is over; 0: none.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        timeout_ms: Callable[[G, str], int],
        ended: Callable[[G, str], None],
        grace_ms: Callable[[G, str], int],
    ) -> None:
        self._scheduler = scheduler
        self._timeout_ms = timeout_ms
        self._ended = ended
        self._grace_ms = grace_ms
        self._sessions: dict[str, dict[str, _Session]] = {}
        """Group id → member id → session"""
        self._over: deque[tuple[G, str, _Session]] = deque()
        """Sessions that are over when one has ended already in this turn of the event loop."""
        self._has_ended_one = False

    def keep_alive(self, group: G, member_id: str) -> None:
        """Extend the member's session, or begin it."""
        self._expect(group, member_id, self._timeout_ms(group, member_id))

    def left_s(self, group: G, member_id: str) -> float | None:
        """The time until the member's session ends; None: it has none."""
        session = self._sessions.get(group.group_id, {}).get(member_id)
        return None if session is None else session.deadline_s - self._scheduler.time()

    def _expect(self, group: G, member_id: str, timeout_ms: int) -> None:
        sessions = self._sessions.setdefault(group.group_id, {})
        deadline_s = self._scheduler.time() + timeout_ms / 1000
        session = sessions.get(member_id)
        if session is not None and session.due_s <= deadline_s:
            session.deadline_s = deadline_s
            return
        if session is not None:  # the session timeout is shorter now
            session.timer.cancel()
        timer = self._scheduler.call_at(deadline_s, self._due, group, member_id)
        sessions[member_id] = _Session(deadline_s, timer)

    def end(self, group: G, member_id: str) -> None:
        """The member has left."""
        session = self._sessions.get(group.group_id, {}).pop(member_id, None)
        if session is not None:
            session.timer.cancel()

    def end_all(self, group: G) -> None:
        """The group was deleted, or is coordinated by another broker."""
        for session in self._sessions.pop(group.group_id, {}).values():
            session.timer.cancel()

    def _due(self, group: G, member_id: str) -> None:
        session = self._sessions[group.group_id][member_id]
        if self._scheduler.time() < session.deadline_s:
            session.due_s = session.deadline_s
            session.timer = self._scheduler.call_at(session.due_s, self._due, group, member_id)
        elif self._has_ended_one:
            self._over.append((group, member_id, session))
        else:
            self._end_one(group, member_id)

    def _end_one(self, group: G, member_id: str) -> None:
        self._has_ended_one = True
        self._scheduler.call_soon(self._next_turn)
        del self._sessions[group.group_id][member_id]
        if grace_ms := self._grace_ms(group, member_id):
            self._expect(group, member_id, grace_ms)
        else:
            self._ended(group, member_id)

    def _next_turn(self) -> None:
        self._has_ended_one = False
        while self._over and not self._has_ended_one:
            group, member_id, session = self._over.popleft()
            if self._sessions.get(group.group_id, {}).get(member_id) is session:  # else the member is gone
                self._due(group, member_id)


class _Session:
    """``deadline_s``: when the session ends, by the scheduler's clock. ``due_s``: when its timer fires."""

    __slots__ = ("deadline_s", "due_s", "timer")

    def __init__(self, deadline_s: float, timer: TimerHandle) -> None:
        self.deadline_s = self.due_s = deadline_s
        self.timer = timer
