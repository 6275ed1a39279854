"""Writes the page of events: ``python -m pybroker.broker.events.document docs/operator``."""

import re
import sys
from collections.abc import Iterable
from pathlib import Path

from .event import Event
from .table import ROOMS

EVENTS_PAGE = "events.md"
_VARIES = "VARIES"
_PLACEHOLDER = re.compile(r"%(?:\.\d+)?[a-zA-Z]|0x%x")
_INTRODUCTION = """\
# Events: what a log line means, and what to do

This page is written by `python -m pybroker.broker.events.document docs/operator`.

Each kind of log line has an id that never changes. With `pybroker --log-format json`, or `PYBROKER_LOG_FORMAT=json` in
the environment, the broker logs one JSON object a line:

```json
{"ts": "2026-11-27T03:30:46.123Z", "level": "INFO", "logger": "pybroker.storage.log.log", "event": "log.rolled", \
"msg": "orders-3: rolled to a new segment at offset 1200", "topic": "orders", "partition": 3, "offset": 1200}
```

`ts`, `level`, `logger` and `msg` are always there. `event` is missing in lines at level DEBUG and in lines of other
packages. The fields of an event are in its row; `partition` also gives `topic`. `left_out` counts lines of the same
place that the rate limit left out before this one, and `traceback` is one string. Search this page for the id, or for
words of the line; `…` stands for a value.
"""


def events_page() -> str:
    """The text of ``docs/operator/events.md``."""
    return "\n".join([_INTRODUCTION, *(f"## {title}\n\n{_table(events)}" for title, events in ROOMS.items())])


def write_page(directory: Path) -> None:
    (directory / EVENTS_PAGE).write_text(events_page(), encoding="utf-8")


def _table(events: Iterable[Event]) -> str:
    lines = ["| Event | Level | Line | What it means | What to do | Fields |", "|---|---|---|---|---|---|"]
    for event in events:
        level = "varies" if event.level == _VARIES else event.level
        fields = ", ".join(f"`{name}`" for name in event.arguments if name != "msg")
        cells = [f"`{event.id}`", level, _line(event.template), event.meaning, event.remedy, fields]
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines) + "\n"


def _line(template: str) -> str:
    """The text of the line; ``…`` for each value."""
    text = _PLACEHOLDER.sub("…", template).replace("%%", "%")
    return "" if text.strip("… :") == "" else f"`{text}`"


if __name__ == "__main__":
    write_page(Path(sys.argv[1]))
