"""The fields of a log line: the values in its text, by the names of its event."""

import logging
import math
import sys
from collections.abc import Iterator

from ...base.event_marks import FIELDS
from ...base.topic_partition import TopicPartition, parse_directory_name
from .event import Event

__all__ = ["LONGEST_FIELD", "Value", "fields_of", "message_of", "shortened"]

Value = str | int | float
LONGEST_FIELD = 1024
_WHOLE_TEXT = "msg"


def fields_of(record: logging.LogRecord, event: Event | None) -> dict[str, Value]:
    """The fields by name, with texts of at most `LONGEST_FIELD` characters. Never raises."""
    fields: dict[str, Value] = {}
    if event is not None and isinstance(record.args, tuple):
        for name, value in zip(event.arguments, record.args, strict=False):
            if name != _WHOLE_TEXT:
                fields.update(_fields(name, value))
    for name, value in getattr(record, FIELDS, {}).items():
        fields.update(_fields(name, value))
    error = record.exc_info[1] if record.exc_info else None
    if error is not None and "error" not in fields:
        fields["error"] = f"{type(error).__name__}: {_text(error)}"[:LONGEST_FIELD]
    return fields


def message_of(record: logging.LogRecord) -> str:
    """The whole text; the template with its values behind it when they do not fit. Never raises."""
    try:
        return record.getMessage()
    except Exception:  # the mistake of a call must not cost its line
        return f"{record.msg!s} {record.args!r}"


def shortened(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text) - longest} more characters)"


def _fields(name: str, value: object) -> Iterator[tuple[str, Value]]:
    if name == "partition" and not isinstance(value, int):
        partition = value if isinstance(value, TopicPartition) else _partition(_text(value))
        if partition is not None:
            yield "topic", shortened(partition.topic, LONGEST_FIELD)
            yield "partition", partition.partition
            return
    yield name, _value(value)


def _partition(text: str) -> TopicPartition | None:
    parsed = parse_directory_name(text)
    return None if parsed is None or len(text) > LONGEST_FIELD else parsed.topic_partition


def _value(value: object) -> Value:
    if isinstance(value, int):
        return int(value) if abs(value) < sys.maxsize else str(value)
    if isinstance(value, float) and math.isfinite(value):
        return float(value)
    return shortened(_text(value), LONGEST_FIELD)


def _text(value: object) -> str:
    try:
        return str(value)
    except Exception:  # an error whose text cannot be made
        return type(value).__name__
