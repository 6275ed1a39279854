"""Marks a log line with its event and its fields, where its place in the source and its text do not tell them.

A helper logs such a line for many places, or other code makes its whole text. The other lines of the log need no
mark: `pybroker.broker.events` finds their events by module and text.
"""

from collections.abc import Mapping

__all__ = ["EVENT", "FIELDS", "marked"]

EVENT = "event_id"
"""The attribute of a log record with the id of its event."""
FIELDS = "event_fields"
"""The attribute of a log record with its fields by name."""


def marked(event: str, **fields: object) -> Mapping[str, object]:
    """Log the line with ``extra=marked(…)``. ``event``: an id of the table of events."""
    return {EVENT: event, FIELDS: fields}
