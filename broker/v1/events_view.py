"""The last lines of the log as the documents show them."""

from ...views.events import Event
from .known_state import KnownState

__all__ = ["last_events"]


def last_events(state: KnownState, limit: int) -> tuple[Event, ...]:
    """Return at most ``limit`` lines, the newest first."""
    return tuple(
        Event(
            time_ms=each.time_ms,
            level=each.level,
            event=each.event,
            logger=each.logger,
            text=each.text,
            fields=each.fields,
        )
        for each in state.recent_events.newest_first(limit)
    )
