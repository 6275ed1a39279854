"""Keeps the last log lines in memory, for `/v1/events` and the console."""

import logging
from collections import deque
from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple

from .line_rate import LineRate
from .record_fields import Value, fields_of, message_of, shortened
from .table import event_of

__all__ = ["MOST_EVENTS", "LoggedEvent", "RecentEvents"]

MOST_EVENTS = 256
_LONGEST_TEXT, _LONGEST_FIELD = 1024, 128
_BURST, _PERIOD_S = 8, 60.0


class LoggedEvent(NamedTuple):
    """``event``: its id; None for lines of other packages. ``fields``: see `fields_of`."""

    time_ms: int
    level: str
    event: str | None
    logger: str
    text: str
    fields: dict[str, Value]


class RecentEvents(logging.Handler):
    """The last `MOST_EVENTS` lines at INFO and above, of every broker in this process.

    A place in the source gets 8 lines a minute, so that repeated lines do not drive out the others.
    """

    def __init__(self) -> None:
        super().__init__(logging.INFO)
        self._events: deque[LoggedEvent] = deque(maxlen=MOST_EVENTS)
        self._rate = LineRate(_BURST, _PERIOD_S)

    def newest_first(self, limit: int = MOST_EVENTS) -> Sequence[LoggedEvent]:
        return list(islice(reversed(self._events.copy()), limit))

    def attach(self) -> None:
        """Begin to keep the lines of this package, and those of Kafka's names such as the authorizer's."""
        for logger in self._loggers():
            logger.addHandler(self)

    def detach(self) -> None:
        for logger in self._loggers():
            logger.removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Called by the loggers, from any thread."""
        if self._rate.admit(record) is None:
            return
        event = event_of(record)
        fields = fields_of(record, event).items()
        self._events.append(
            LoggedEvent(
                int(record.created * 1000),
                record.levelname,
                None if event is None else event.id,
                shortened(record.name, 256),
                shortened(message_of(record), _LONGEST_TEXT),
                {name: shortened(value, _LONGEST_FIELD) if isinstance(value, str) else value for name, value in fields},
            )
        )

    def _loggers(self) -> Sequence[logging.Logger]:
        return [logging.getLogger(name) for name in (__name__.partition(".")[0], "kafka")]
