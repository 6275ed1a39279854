"""The timeline of a group's rebalances as its document shows it."""

from ...views.groups import Timeline, TimelineEvent
from ..coordinator.group.base import GroupBase
from ..coordinator.group.timeline import GroupEvent
from .known_state import KnownState
from .own_source import source_of

__all__ = ["timeline_of"]


def timeline_of(state: KnownState, group: GroupBase) -> Timeline:
    """Return the events of the group, the newest first."""
    events = tuple(_event(event) for event in reversed(group.timeline.events()))
    return Timeline(source=source_of(state), group=group.group_id, events=events)


def _event(event: GroupEvent) -> TimelineEvent:
    member, course = event.member, event.course
    waited_for = None if course is None else course.waited_for
    outcome = None if course is None else course.outcome
    return TimelineEvent(
        time_ms=event.time_ms,
        generation=event.generation,
        kind=event.kind.value,
        reason=None if course is None else course.reason.value,
        text=event.text,
        times=event.times,
        member_id=None if member is None else member.member_id,
        client_id=None if member is None else member.client_id,
        host=None if member is None else member.host,
        instance_id=None if member is None else member.instance_id,
        duration_ms=None if course is None else course.duration_ms,
        outcome=None if outcome is None else outcome.value,
        waited_for=None if waited_for is None else waited_for.member_id,
        waited_ms=None if course is None or waited_for is None else course.waited_ms,
        members=None if course is None else course.members,
    )
