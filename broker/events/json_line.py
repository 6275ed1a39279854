"""Formats each log line as one JSON object, for programs that collect logs."""

import json
import logging
from datetime import UTC, datetime

from .record_fields import fields_of, message_of, shortened
from .table import event_of

__all__ = ["LEFT_OUT", "JsonLineFormatter", "time_text"]

LEFT_OUT = "left_out"
"""The attribute of a log record that counts the lines left out before it by the rate limit."""
_LONGEST_MESSAGE = 4096
_LONGEST_TRACEBACK = 16384


class JsonLineFormatter(logging.Formatter):
    """The line has `ts`, `level`, `logger`, `event` (if the table has it), `msg`, and the fields of the event.

    Then `left_out`, and `traceback` as one string. Every line is valid JSON in ASCII of limited length.
    """

    def format(self, record: logging.LogRecord) -> str:
        event = event_of(record)
        line: dict[str, object] = {
            "ts": time_text(record.created),
            "level": record.levelname,
            "logger": shortened(record.name, 256),
        }
        if event is not None:
            line["event"] = event.id
        line["msg"] = shortened(message_of(record), _LONGEST_MESSAGE)
        fields = fields_of(record, event)
        line |= {name: value for name, value in fields.items() if name not in line}
        left_out = getattr(record, LEFT_OUT, 0)
        if left_out:
            line[LEFT_OUT] = left_out
        trace = self._traceback(record)
        if trace:
            line["traceback"] = trace
        return json.dumps({name: _sound(value) for name, value in line.items()}, allow_nan=False)

    def _traceback(self, record: logging.LogRecord) -> str:
        parts = [self.formatException(record.exc_info)] if record.exc_info else [record.exc_text or ""]
        if record.stack_info:
            parts.append(record.stack_info)
        text = "\n".join(filter(None, parts))
        return text if len(text) <= _LONGEST_TRACEBACK else f"…{text[-_LONGEST_TRACEBACK:]}"


def _sound(value: object) -> object:
    """The value without halves of surrogate pairs, which JSON readers refuse: `\\udc80` is written out instead."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def time_text(seconds: float) -> str:
    """RFC 3339 with milliseconds, in UTC."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
