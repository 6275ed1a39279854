"""The sections that a failed test's report gets: what its brokers logged, hold and did."""

import logging
import time
from collections import deque
from collections.abc import Iterable
from pathlib import Path

from ..broker.library.cluster.thread_broker import broker_of_thread
from ..broker.library.inspection.overview import line

__all__ = ["CapturedLog", "Section", "last_lines", "section_texts"]

Section = tuple[str, list[str]]
"""A title and lines."""

_MOST_LINES = 200
_LAST_LINES = 50
_LAST_BYTES = 64 << 10
_LOGGER = "pybroker"


class CapturedLog(logging.Handler):
    """Keeps the last 200 log lines of the brokers in this process, at the levels that their loggers let through."""

    def __init__(self) -> None:
        super().__init__()
        self._lines: deque[tuple[float, str]] = deque(maxlen=_MOST_LINES)

    def attach(self) -> None:
        """Begin to keep lines."""
        logging.getLogger(_LOGGER).addHandler(self)

    def detach(self) -> None:
        """Keep no more lines."""
        logging.getLogger(_LOGGER).removeHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Called by the logger, from any thread."""
        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        broker = broker_of_thread(record.threadName)
        where = "" if broker is None else f"broker {broker}: "
        text = line(f"{at}.{int(record.msecs):03d} {record.levelname} {where}{record.getMessage()}")
        self._lines.append((record.created, text))

    def lines(self, since_ms: int) -> list[str]:
        """The lines since then (wall clock), the oldest first."""
        return [text for created, text in self._lines.copy() if created * 1000 >= since_ms]


def last_lines(file: Path) -> list[str]:
    """The last 50 lines in the last 64 KiB of a file."""
    with file.open("rb") as output:
        output.seek(max(file.stat().st_size - _LAST_BYTES, 0))
        text = output.read().decode(errors="replace")
    return [line(each) for each in text.splitlines()[-_LAST_LINES:]]


def section_texts(name: str, sections: Iterable[Section]) -> list[tuple[str, str]]:
    """The sections as pytest's reports have them, without the empty ones. ``name``: of the fixture."""
    return [(f"{name}: {title}", "\n".join(lines) + "\n") for title, lines in sections if lines]
