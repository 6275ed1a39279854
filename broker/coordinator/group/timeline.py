"""The last events of one group: rebalances with cause, duration and the slowest member, and changes of its offsets.

Kept in memory only, so a new coordinator begins an empty timeline. No clock, no I/O.
"""

from collections.abc import Iterable
from enum import Enum
from typing import NamedTuple

from ....protocol.text_size import text_bytes
from .history_memory import HistoryMemory
from .member import Member
from .rebalance_cause import RebalanceCause, RebalanceReason

__all__ = ["MAX_EVENTS", "EventKind", "EventMember", "EventOutcome", "GroupEvent", "GroupTimeline", "RebalanceCourse"]

MAX_EVENTS = 64
_MAX_TEXT = 256
"""Characters. Member ids, client ids and reasons come from clients and may be long."""
_EVENT_BYTES = 800


class EventKind(Enum):
    REBALANCE = "rebalance"
    MEMBER_REPLACED = "member_replaced"
    """A static member returned under a new member id, without a rebalance."""
    JOIN_REFUSED = "join_refused"
    """A client could not join, because it shares no protocol with all members, or because the group is full."""
    OFFSETS_SET = "offsets_set"
    """A client that is no member set offsets, as ``kafka-consumer-groups --reset-offsets`` does."""
    OFFSETS_DELETED = "offsets_deleted"
    OFFSETS_EXPIRED = "offsets_expired"
    LOADED = "loaded"
    """This broker became the group's coordinator."""


class EventOutcome(Enum):
    """How a rebalance ended."""

    STABLE = "stable"
    EMPTY = "empty"
    INTERRUPTED = "interrupted"
    """The next rebalance began before all members had their assignments."""


class EventMember(NamedTuple):
    """A member at the time of the event. The texts are cut to 256 characters."""

    member_id: str
    client_id: str
    host: str
    instance_id: str | None

    @classmethod
    def of(cls, member: Member) -> "EventMember":
        return cls.named(member.member_id, member.client_id, member.client_host, member.group_instance_id)

    @classmethod
    def named(cls, member_id: str, client_id: str, host: str, instance_id: str | None) -> "EventMember":
        return cls(_cut(member_id), _cut(client_id), _cut(host), None if instance_id is None else _cut(instance_id))


class RebalanceCourse(NamedTuple):
    """How a rebalance went. ``duration_ms`` and ``outcome`` are None while it runs.

    ``waited_for``: the member for which the rebalance waited longest, None when it waited for no member. ``members``:
    how many the group had at the end.
    """

    reason: RebalanceReason
    duration_ms: int | None = None
    outcome: EventOutcome | None = None
    waited_for: EventMember | None = None
    waited_ms: int = 0
    members: int | None = None


class GroupEvent(NamedTuple):
    """``time_ms``: when it began (wall clock). ``generation``: the generation before it. ``member``: its cause.

    ``course``: of rebalances only. ``times``: how many events of this kind came in a row, of which this is the last.
    """

    time_ms: int
    generation: int
    kind: EventKind
    text: str
    member: EventMember | None = None
    course: RebalanceCourse | None = None
    times: int = 1


class _RunningRebalance:
    """A rebalance that has not ended. ``phase_began_s``: since when it waits for joins, or for the leader's sync."""

    __slots__ = ("began_s", "event", "phase_began_s", "reason", "waited_for", "waited_s")

    def __init__(self, event: GroupEvent, reason: RebalanceReason, now_s: float) -> None:
        self.event = event
        self.reason = reason
        self.began_s = now_s
        self.phase_began_s = now_s
        self.waited_for: EventMember | None = None
        self.waited_s = 0.0

    def note_wait(self, member: Member, now_s: float) -> None:
        """The rebalance waited for the member until now."""
        waited_s = now_s - self.phase_began_s
        if waited_s > 0 and waited_s >= self.waited_s:
            self.waited_for = EventMember.of(member)
            self.waited_s = waited_s

    def event_at(self, now_s: float, outcome: EventOutcome | None, members: int | None) -> GroupEvent:
        duration_ms = None if outcome is None else _ms(now_s - self.began_s)
        course = RebalanceCourse(self.reason, duration_ms, outcome, self.waited_for, _ms(self.waited_s), members)
        return self.event._replace(course=course)


class GroupTimeline:
    """Times in seconds are those of the scheduler's clock, times in milliseconds those of the wall clock.

    ``memory`` is None while the group is in no registry; events are not kept then.
    """

    __slots__ = ("_events", "_running", "memory", "rebalances")

    def __init__(self) -> None:
        self.memory: HistoryMemory | None = None
        self.rebalances: dict[RebalanceReason, int] = {}
        """How many rebalances began for each reason since this broker coordinates the group."""
        self._events: list[GroupEvent] = []
        self._running: _RunningRebalance | None = None

    # -- what happens

    def rebalance_began(self, cause: RebalanceCause, generation: int, now_ms: int, now_s: float) -> None:
        """A rebalance after ``generation`` began. If another one was running, it is interrupted."""
        if self._running is not None:
            self.rebalance_ended(EventOutcome.INTERRUPTED, 0, now_s)
        self.rebalances[cause.reason] = self.rebalances.get(cause.reason, 0) + 1
        member = None if cause.member is None else EventMember.of(cause.member)
        event = GroupEvent(now_ms, generation, EventKind.REBALANCE, _cut(cause.text), member)
        self._running = _RunningRebalance(event, cause.reason, now_s)

    def waited_for(self, member: Member, now_s: float) -> None:
        """The member joined, sent the assignment as leader, or is waited for no more."""
        if self._running is not None:
            self._running.note_wait(member, now_s)

    def assignment_awaited(self, now_s: float) -> None:
        """All members have joined; from now on the rebalance waits for the leader's assignment."""
        if self._running is not None:
            self._running.phase_began_s = now_s

    def rebalance_ended(self, outcome: EventOutcome, members: int, now_s: float) -> None:
        """The running rebalance ended. ``members``: how many the group has now."""
        running, self._running = self._running, None
        if running is not None:
            self._keep(running.event_at(now_s, outcome, None if outcome is EventOutcome.INTERRUPTED else members))

    def note(self, kind: EventKind, text: str, generation: int, now_ms: int, member: EventMember | None = None) -> None:
        """Something else happened. Of several events of a kind in a row only the last is kept, with their number."""
        times = 1
        if self._events and self._events[-1].kind is kind:
            times += self._events[-1].times
            self._drop(-1)
        self._keep(GroupEvent(now_ms, generation, kind, _cut(text), member=member, times=times))

    # -- questions

    def events(self) -> list[GroupEvent]:
        """All events, the oldest first; a running rebalance is the last."""
        if self._running is None:
            return list(self._events)
        return [*self._events, self._running.event_at(self._running.began_s, None, None)]

    # -- memory

    def clear(self) -> None:
        """Forget the events that are over, and give back their memory. The counts stay."""
        while self._events:
            self._drop(-1)

    def _keep(self, event: GroupEvent) -> None:
        if len(self._events) == MAX_EVENTS:
            self._drop(0)
        if self.memory is None:
            return
        size_bytes = _event_bytes(event)
        while not self.memory.reserve(size_bytes):
            if not self._events:
                return
            self._drop(0)
        self._events.append(event)

    def _drop(self, index: int) -> None:
        event = self._events.pop(index)
        if self.memory is not None:
            self.memory.release(_event_bytes(event))


def _event_bytes(event: GroupEvent) -> int:
    """Estimated memory of an event with its texts."""
    return _EVENT_BYTES + sum(map(text_bytes, _texts(event)))


def _texts(event: GroupEvent) -> Iterable[str]:
    yield event.text
    for member in (event.member, None if event.course is None else event.course.waited_for):
        if member is not None:
            yield member.member_id
            yield member.client_id
            yield member.host
            yield member.instance_id or ""


def _cut(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else text[: _MAX_TEXT - 1] + "\N{HORIZONTAL ELLIPSIS}"


def _ms(seconds: float) -> int:
    return round(seconds * 1000)
