"""The step that a start is at, named in the log when it takes long."""

import logging

from ..base.slow_waits import SlowWait
from ..base.timers import Scheduler

__all__ = ["StartSteps"]

logger = logging.getLogger(__name__)


class StartSteps:
    """Logs what the start waits for, after two seconds in one step and again after growing gaps. On the event loop.

    Used with ``with`` around the start; steps that begin later are ignored.
    """

    def __init__(self, scheduler: Scheduler) -> None:
        self._wait = SlowWait(scheduler, logger)
        self._is_over = False
        self.current: str | None = None
        """The step that the start is at, as `begin` names it."""

    def __enter__(self) -> "StartSteps":
        return self

    def __exit__(self, *_error: object) -> None:
        self._is_over = True
        self._wait.end()

    def begin(self, step: str) -> None:
        """``step``: what the start waits for now, as a noun: "the addresses of its listeners"."""
        self.current = step
        if not self._is_over:
            self._wait.begin(lambda: f"the start waits for {step}")

    def begin_spoken_for(self) -> None:
        """Begin a step that logs by itself what it waits for: a session with ZooKeeper."""
        self.current = "ZooKeeper"
        self._wait.end()
