"""Sets up the log: one line for each event, on standard error, with a rate limit for repeated lines."""

import logging
import sys
import threading
from types import TracebackType

from ...base.printable import printable
from ..events.json_line import LEFT_OUT, JsonLineFormatter
from ..events.line_rate import LineRate
from ..events.record_fields import shortened

__all__ = ["LOG_FORMATS", "LogRateLimit", "OneLineFormatter", "log_to_stderr", "logs_json"]

logger = logging.getLogger(__name__)

LOG_FORMATS = ("text", "json")
_LONGEST_LINE = 4096
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class OneLineFormatter(logging.Formatter):
    """Writes each event as one line of limited length, whatever names clients choose; only tracebacks are longer."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        """The line without its traceback, with control characters escaped."""
        line = shortened(super().formatMessage(record), _LONGEST_LINE)
        left_out = getattr(record, LEFT_OUT, 0)
        if left_out:
            line = f"{line} ({left_out} more lines like this were left out before it)"
        return printable(line)


class LogRateLimit(logging.Filter):
    """Writes at most ``burst`` lines from one place in the source within ``period_s``, and counts the rest.

    Clients that join ten thousand groups, or repeat a failing request, must not fill the disk with log lines. The
    first line of a period tells how many lines the period before left out. See `LineRate`.
    """

    def __init__(self, burst: int = 100, period_s: float = 10.0) -> None:
        super().__init__()
        self._rate = LineRate(burst, period_s)

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        left_out = self._rate.admit(record)
        setattr(record, LEFT_OUT, left_out or 0)
        return left_out is not None


def log_to_stderr(level: str, log_format: str = "text") -> None:
    """Log events of at least this level to standard error, and nowhere else. ``log_format``: of `LOG_FORMATS`."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLineFormatter() if log_format == "json" else OneLineFormatter(_FORMAT))
    handler.addFilter(LogRateLimit())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    if log_format == "json":
        _log_python_errors()


def logs_json() -> bool:
    """Whether standard error takes JSON lines only."""
    return any(isinstance(handler.formatter, JsonLineFormatter) for handler in logging.getLogger().handlers)


def _log_python_errors() -> None:
    """Let Python log warnings and uncaught errors, which it otherwise prints."""

    def log(kind: type[BaseException], error: BaseException | None, trace: TracebackType | None) -> None:
        logger.critical("an uncaught error", exc_info=(kind, error or kind(), trace))

    logging.captureWarnings(True)
    sys.excepthook = log
    threading.excepthook = lambda caught: log(caught.exc_type, caught.exc_value, caught.exc_traceback)
