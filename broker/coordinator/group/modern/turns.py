"""Runs long computations of groups in turns, so that the event loop serves requests between them."""

from collections.abc import Callable, Generator
from typing import Generic, TypeVar

from .....base.timers import Scheduler

__all__ = ["TurnsOf"]

_TURN_S = 0.001

Result = TypeVar("Result")


class TurnsOf(Generic[Result]):
    """One computation. Each turn runs steps for about a millisecond; then the loop does other work.

    ``done`` gets the result. ``failed`` gets an error of a step.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        steps: Generator[None, None, Result],
        done: Callable[[Result], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._scheduler = scheduler
        self._steps = steps
        self._done = done
        self._failed = failed
        self._is_cancelled = False
        scheduler.call_soon(self._take_turn)

    def cancel(self) -> None:
        """End it without a result."""
        self._is_cancelled = True
        self._steps.close()

    def _take_turn(self) -> None:
        if self._is_cancelled:
            return
        time = self._scheduler.time
        end_s = time() + _TURN_S
        try:
            while time() < end_s:
                next(self._steps)
        except StopIteration as end:
            self._done(end.value)
        except Exception as error:
            self._failed(error)
        else:
            self._scheduler.call_soon(self._take_turn)
