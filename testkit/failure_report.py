"""The sections that a failed test's report gets: what its brokers logged, hold and did."""

import logging
import time
from collections import deque
from collections.abc import Collection, Iterable
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
_LEVEL = logging.INFO - 1
"""Lets INFO through, and is a level that no program sets."""
_FOR_NO_HANDLER = -1


class CapturedLog(logging.Handler):
    """Keeps the last 200 log lines of the brokers in this process, at the level INFO and above.

    **How.** The loggers of pybroker let INFO through meanwhile, whatever the level of the root is. A record that passes
    only for this handler then gets a level below that of all other handlers.
    """

    def __init__(self) -> None:
        super().__init__()
        self._lines: deque[tuple[float, str, str]] = deque(maxlen=_MOST_LINES)
        self._logger = logging.getLogger(_LOGGER)

    def attach(self) -> None:
        """Begin to keep lines."""
        self._logger.handlers.insert(0, self)
        if not self._logger.level:  # a level that the program has set counts
            self._logger.setLevel(_LEVEL)

    def detach(self) -> None:
        """Keep no more lines."""
        self._logger.removeHandler(self)
        if self._logger.level == _LEVEL:
            self._logger.setLevel(logging.NOTSET)

    def emit(self, record: logging.LogRecord) -> None:
        """Called by the logger, from any thread."""
        self._keep(record)
        if record.levelno < _level_of(record.name):
            record.levelno = _FOR_NO_HANDLER

    def _keep(self, record: logging.LogRecord) -> None:
        at = time.strftime("%H:%M:%S", time.localtime(record.created))
        broker = broker_of_thread(record.threadName)
        where = "" if broker is None else f"broker {broker}: "
        text = line(f"{at}.{int(record.msecs):03d} {record.levelname} {where}{record.getMessage()}")
        self._lines.append((record.created, record.threadName or "", text))

    def lines(self, since_ms: int, others: Collection[str] = ()) -> list[str]:
        """The lines since then (wall clock), the oldest first. ``others``: the marks of threads whose lines are left
        out."""
        return [
            text
            for created, thread, text in self._lines.copy()
            if created * 1000 >= since_ms and not any(mark in thread for mark in others)
        ]


def _level_of(name: str) -> int:
    """The level of a logger without that of `CapturedLog`."""
    logger: logging.Logger | None = logging.getLogger(name)
    while logger is not None:
        if logger.level not in (logging.NOTSET, _LEVEL):
            return logger.level
        logger = logger.parent
    return logging.NOTSET


def last_lines(file: Path) -> list[str]:
    """The last 50 lines in the last 64 KiB of a file."""
    with file.open("rb") as output:
        output.seek(max(file.stat().st_size - _LAST_BYTES, 0))
        text = output.read().decode(errors="replace")
    return [line(each) for each in text.splitlines()[-_LAST_LINES:]]


def section_texts(name: str, sections: Iterable[Section]) -> list[tuple[str, str]]:
    """The sections as pytest's reports have them, without the empty ones. ``name``: of the fixture."""
    return [(f"{name}: {title}", "\n".join(lines) + "\n") for title, lines in sections if lines]
