"""The log: one line an event, to standard error, and never a flood of lines that are alike."""

import logging
import sys

from ...base.quiet_lines import QUIET_S

_LONGEST_LINE = 4096
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"


class OneLineFormatter(logging.Formatter):
    """Keeps an event to its line, and the line to a length, whatever a client put into a name; only tracebacks take
    more lines."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 (logging's name)
        """The line without its traceback, control characters written as escapes."""
        line = super().formatMessage(record)
        if len(line) > _LONGEST_LINE:
            line = f"{line[:_LONGEST_LINE]}… ({len(line) - _LONGEST_LINE} more characters)"
        if line.isprintable():
            return line
        return "".join(
            character if character.isprintable() else character.encode("unicode_escape").decode() for character in line
        )


class _Place:
    """A place in the source, in one period. ``burst`` lines are let through; ``lines`` counts those left out, too."""

    __slots__ = ("began_s", "burst", "lines")

    def __init__(self, began_s: float, burst: int) -> None:
        self.began_s = began_s
        self.burst = burst
        self.lines = 0

    @property
    def left_out(self) -> int:
        return max(0, self.lines - self.burst)


class LogRateLimit(logging.Filter):
    """Lets through ``burst`` lines from one place in the source within ``period_s``, and counts the rest.

    Somebody who joins ten thousand groups, or makes a request fail over and over, must not fill the disk with it: as
    long as there would be more, period after period, a tenth as many are let through each time, down to one. The first
    line of a period tells how many were left out of the one before. Of refusals (`QUIET`) there is one line in 30 s.
    """

    def __init__(self, burst: int = 100, period_s: float = 10.0) -> None:
        super().__init__()
        self._burst = burst
        self._period_s = period_s
        self._places: dict[tuple[str, int], _Place] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the line is written."""
        place = (record.pathname, record.lineno)
        quiet_s: float | None = getattr(record, QUIET_S, None)
        burst, period_s = (self._burst, self._period_s) if quiet_s is None else (1, quiet_s)
        seen = self._places.get(place)
        if seen is None:
            seen = self._places[place] = _Place(record.created, burst)
        elif not 0 <= record.created - seen.began_s < period_s:
            left_out = seen.left_out
            is_flood = seen.lines > burst
            seen = self._places[place] = _Place(record.created, max(1, seen.burst // 10) if is_flood else burst)
            if left_out:
                record.msg = f"{record.getMessage()} ({left_out} more lines like this were left out before it)"
                record.args = None
        seen.lines += 1
        return seen.lines <= seen.burst


def log_to_stderr(level: str) -> None:
    """Send events of at least this level (``INFO``) to standard error, and nowhere else."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(OneLineFormatter(_FORMAT))
    handler.addFilter(LogRateLimit())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
