"""Says in the log what a start waits for when it waits long."""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from .timers import Scheduler

__all__ = ["told_if_slow"]

_LONG_S = 2.0


@contextmanager
def told_if_slow(scheduler: Scheduler, logger: logging.Logger, line: Callable[[], str]) -> Iterator[None]:
    """Around a step: log a warning with ``line()`` when the step has taken two seconds."""
    timer = scheduler.call_later(_LONG_S, lambda: logger.warning("%s", line()))
    try:
        yield
    finally:
        timer.cancel()
