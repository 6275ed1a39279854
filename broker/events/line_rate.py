"""Decides which of many similar log lines are written."""

import logging

from ...base.quiet_lines import QUIET_S

__all__ = ["LineRate"]


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


class LineRate:
    """Admits at most ``burst`` lines from one place in the source within ``period_s``, and counts the rest.

    While a flood goes on, each period admits a tenth of the last, down to one line. Lines marked `QUIET` are admitted
    once in 30 s.
    """

    def __init__(self, burst: int, period_s: float) -> None:
        self._burst = burst
        self._period_s = period_s
        self._periods: dict[tuple[str, int], _Period] = {}

    def admit(self, record: logging.LogRecord) -> int | None:
        """None: the line is left out. Else the number of lines that the period before left out, in its first line."""
        place = (record.pathname, record.lineno)
        quiet_s: float | None = getattr(record, QUIET_S, None)
        burst, period_s = (self._burst, self._period_s) if quiet_s is None else (1, quiet_s)
        left_out = 0
        seen = self._periods.get(place)
        if seen is None:
            seen = self._periods[place] = _Period(record.created, burst)
        elif not 0 <= record.created - seen.began_s < period_s:
            left_out = seen.left_out
            is_flood = seen.lines > burst
            seen = self._periods[place] = _Period(record.created, max(1, seen.burst // 10) if is_flood else burst)
        seen.lines += 1
        return left_out if seen.lines <= seen.burst else None
