"""Says in the log what a start waits for when it waits long."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .event_marks import marked
from .timers import Scheduler, TimerHandle

__all__ = ["SlowWait", "told_if_slow"]

_LONG_S = 2.0
_LONGEST_GAP_S = 60.0


class SlowWait:
    """Logs a warning when a step has taken two seconds, and again after gaps that grow to a minute."""

    def __init__(self, scheduler: Scheduler, logger: logging.Logger) -> None:
        self._scheduler = scheduler
        self._logger = logger
        self._timer: TimerHandle | None = None

    def begin(self, line: Callable[[], str]) -> None:
        """Note that a step begins, and that the step before it is over. ``line()``: what to log."""
        self.end()
        self._tell_later(line, _LONG_S)

    def end(self) -> None:
        """Note that the step is over."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell_later(self, line: Callable[[], str], gap_s: float) -> None:
        self._timer = self._scheduler.call_later(gap_s, self._tell, line, gap_s)

    def _tell(self, line: Callable[[], str], gap_s: float) -> None:
        self._logger.warning("%s", line(), extra=marked("start.slow-step"))
        self._tell_later(line, min(2 * gap_s, _LONGEST_GAP_S))


@contextmanager
def told_if_slow(scheduler: Scheduler, logger: logging.Logger, line: Callable[[], str]) -> Iterator[None]:
    """Around a step: log a warning with ``line()`` as `SlowWait` does."""
    wait = SlowWait(scheduler, logger)
    wait.begin(line)
    try:
        yield
    finally:
        wait.end()
