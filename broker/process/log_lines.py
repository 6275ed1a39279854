"""Sets up the log: one line for each event, on standard error, with a rate limit for repeated lines."""

import logging
import sys

from ...base.quiet_lines import QUIET_S

_LONGEST_LINE = 4096
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class OneLineFormatter(logging.Formatter):
    """Writes each event as one line of limited length, whatever names clients choose; only tracebacks are longer."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        """The line without its traceback, with control characters escaped."""
        line = super().formatMessage(record)
        if len(line) > _LONGEST_LINE:
            line = f"{line[:_LONGEST_LINE]}… ({len(line) - _LONGEST_LINE} more characters)"
        if line.isprintable():
            return line
        return "".join(
            character if character.isprintable() else character.encode("unicode_escape").decode() for character in line
        )


class _Period:
    """Counts the lines from one place in one period. ``burst`` lines are written; ``lines`` counts all."""

    __slots__ = ("began_s", "burst", "lines")

    def __init__(self, began_s: float, burst: int) -> None:
        self.began_s = began_s
        self.burst = burst
        self.lines = 0

    @property
    def left_out(self) -> int:
        return max(0, self.lines - self.burst)


class LogRateLimit(logging.Filter):
    """Writes at most ``burst`` lines from one place in the source within ``period_s``, and counts the rest.

    Clients that join ten thousand groups, or repeat a failing request, must not fill the disk with log lines. While the
    flood goes on, each period lets through a tenth of the last, down to one line. The first line of a period tells how
    many lines the period before left out. Lines marked `QUIET` appear once in 30 s.
    """

    def __init__(self, burst: int = 100, period_s: float = 10.0) -> None:
        super().__init__()
        self._burst = burst
        self._period_s = period_s
        self._periods: dict[tuple[str, int], _Period] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        place = (record.pathname, record.lineno)
        quiet_s: float | None = getattr(record, QUIET_S, None)
        burst, period_s = (self._burst, self._period_s) if quiet_s is None else (1, quiet_s)
        seen = self._periods.get(place)
        if seen is None:
            seen = self._periods[place] = _Period(record.created, burst)
        elif not 0 <= record.created - seen.began_s < period_s:
            left_out = seen.left_out
            is_flood = seen.lines > burst
            seen = self._periods[place] = _Period(record.created, max(1, seen.burst // 10) if is_flood else burst)
            if left_out:
                record.msg = f"{record.getMessage()} ({left_out} more lines like this were left out before it)"
                record.args = None
        seen.lines += 1
        return seen.lines <= seen.burst


def log_to_stderr(level: str) -> None:
    """Log events of at least this level to standard error, and nowhere else."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLineFormatter(_FORMAT))
    handler.addFilter(LogRateLimit())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
