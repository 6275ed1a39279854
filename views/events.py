"""The last events of a broker."""

from typing import Annotated

from ..base.frozen import frozen
from .source import Source

__all__ = ["Event", "EventOfKind", "Events"]


@frozen(kw_only=True)
class Event:
    """One line of the broker's log."""

    time_ms: int
    level: str
    event: Annotated[str | None, "stable id, see docs/operator/events.md"]
    logger: str
    text: str
    fields: dict[str, str | int | float]


@frozen(kw_only=True)
class EventOfKind(Event):
    """The newest line of its kind. Lines of one kind have the same id, or the same logger and text without one."""

    times: Annotated[int, "lines of the kind among the last 256, for which one place in the source gives 8 a minute"]
    since_ms: Annotated[int, "time of the oldest of them"]


@frozen(kw_only=True)
class Events:
    """The last lines of the broker's log, the newest first."""

    source: Source
    items: tuple[Event, ...]
