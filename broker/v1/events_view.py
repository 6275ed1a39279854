"""The last lines of the log as the documents show them."""

from ...views.events import Event, EventOfKind
from ..events.recent_events import LoggedEvent
from .known_state import KnownState

__all__ = ["last_events", "last_events_by_kind"]


def last_events(state: KnownState, limit: int) -> tuple[Event, ...]:
    """Return at most ``limit`` lines, the newest first."""
    return tuple(Event(**each._asdict()) for each in state.recent_events.newest_first(limit))


def last_events_by_kind(state: KnownState, limit: int) -> tuple[EventOfKind, ...]:
    """Return the newest line of at most ``limit`` kinds, so that no kind hides the others."""
    kinds: dict[tuple[str, ...], list[LoggedEvent]] = {}
    for each in state.recent_events.newest_first():
        kind = (each.logger, each.text) if each.event is None else (each.event,)
        kinds.setdefault(kind, []).append(each)
    newest = list(kinds.values())[:limit]
    return tuple(EventOfKind(**lines[0]._asdict(), times=len(lines), since_ms=lines[-1].time_ms) for lines in newest)
