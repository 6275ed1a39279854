"""Runs the long computations of groups in turns, so that the event loop serves requests between them.

**Why.** Many groups may compute at once, for instance when a topic changes that all of them read. However many they
are, they take about a millisecond of each iteration of the event loop together.

**How.** A computation is a generator of short steps. The computations take one step each, one after another.
"""

from collections import deque
from collections.abc import Callable, Generator
from functools import partial
from typing import Any, Generic, TypeVar

from .....base.timers import Scheduler

__all__ = ["Computation", "ComputationsByGroup", "Turns"]

_TURN_S = 0.001

Result = TypeVar("Result")
Outcome = TypeVar("Outcome")


class Computation(Generic[Result]):
    """One computation that `Turns` has begun."""

    __slots__ = ("_done", "_failed", "_is_cancelled", "_steps")

    def __init__(
        self,
        steps: Generator[None, None, Result],
        done: Callable[[Result], None],
        failed: Callable[[Exception], None],
    ) -> None:
        self._steps = steps
        self._done = done
        self._failed = failed
        self._is_cancelled = False

    def cancel(self) -> None:
        """End it without a result. It may be over already."""
        self._is_cancelled = True
        self._steps.close()

    def take_step(self) -> bool:
        """Returns whether there are more steps."""
        if self._is_cancelled:
            return False
        try:
            next(self._steps)
        except StopIteration as end:
            self._done(end.value)
        except Exception as error:
            self._failed(error)
        else:
            return True
        return False


class Turns:
    """The computations of all groups of a coordinator."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler
        self._waiting: deque[Computation[Any]] = deque()
        self._is_due = False
        """Whether `_take_turn` is running, or will run in the next iteration of the loop."""

    def begin(
        self,
        steps: Generator[None, None, Result],
        done: Callable[[Result], None],
        failed: Callable[[Exception], None],
    ) -> Computation[Result]:
        """Begin a computation with the next turn. ``done`` gets its result, or ``failed`` gets an error of a step."""
        computation = Computation(steps, done, failed)
        self._waiting.append(computation)
        if not self._is_due:
            self._is_due = True
            self.scheduler.call_soon(self._take_turn)
        return computation

    def _take_turn(self) -> None:
        """Run steps for about a millisecond. Computations that begin meanwhile wait for the next turn."""
        running, self._waiting = self._waiting, deque()
        time = self.scheduler.time
        end_s = time() + _TURN_S
        try:
            while running:
                computation = running.popleft()
                if computation.take_step():
                    running.append(computation)
                if time() >= end_s:
                    break
        finally:  # also after an error of ``done`` or ``failed``, which concerns one computation only
            running += self._waiting
            self._waiting = running
            self._is_due = bool(running)
            if running:
                self.scheduler.call_soon(self._take_turn)


class ComputationsByGroup(Generic[Result]):
    """Computations of one kind: of each group at most one at a time."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._running: dict[str, Computation[Result]] = {}

    def __contains__(self, group_id: str) -> bool:
        return group_id in self._running

    def begin(
        self,
        group_id: str,
        steps: Generator[None, None, Result],
        done: Callable[[Result], None],
        failed: Callable[[Exception], None],
    ) -> None:
        """Like `Turns.begin`. When ``done`` or ``failed`` is called, the computation of the group is over."""
        self._running[group_id] = self._turns.begin(
            steps, partial(self._end, group_id, done), partial(self._end, group_id, failed)
        )

    def cancel(self, group_id: str) -> None:
        """End the computation of a group, if there is one, without a result."""
        running = self._running.pop(group_id, None)
        if running is not None:
            running.cancel()

    def _end(self, group_id: str, then: Callable[[Outcome], None], outcome: Outcome) -> None:
        del self._running[group_id]
        then(outcome)
