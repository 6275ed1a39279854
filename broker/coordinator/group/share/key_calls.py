"""Makes a call for each of many keys, some at a time, and gathers the results."""

from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from typing import Generic, TypeVar

from .....base.timers import Scheduler, TimerHandle

__all__ = ["KeyCalls"]

K = TypeVar("K")
R = TypeVar("R")

_AT_ONCE = 8
"""How many calls run at a time, and how many are begun before the event loop does other work."""


class KeyCalls(Generic[K, R]):
    """``call`` is given a key and a callback for the result, once for equal keys. ``done`` gets all results.

    ``late``: the seconds after which keys without a result get another one, and that result.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        keys: Iterable[K],
        call: Callable[[K, Callable[[R], None]], None],
        done: Callable[[dict[K, R]], None],
        late: tuple[float, R] | None = None,
    ) -> None:
        self._scheduler = scheduler
        self._call = call
        self._done = done
        self._keys = list(dict.fromkeys(keys))
        self._left = deque(self._keys)
        self._running = 0
        self._answers: dict[K, R] = {}
        self._is_due = False
        self._is_cancelled = False
        self._timer: TimerHandle | None = None
        if late is not None:
            self._timer = scheduler.call_later(late[0], self._give_up, late[1])
        self._look_soon()

    def cancel(self) -> None:
        """Begin no more calls, and drop the results."""
        self._is_cancelled = True

    def _look_soon(self) -> None:
        if not self._is_due:
            self._is_due = True
            self._scheduler.call_soon(self._look)

    def _look(self) -> None:
        self._is_due = False
        if self._is_cancelled:
            return
        for _ in range(min(len(self._left), _AT_ONCE - self._running)):
            key = self._left.popleft()
            self._running += 1
            self._call(key, partial(self._answered, key))
        if not self._left and not self._running:
            self._end()

    def _give_up(self, late: R) -> None:
        if not self._is_cancelled:
            self._answers = dict.fromkeys(self._keys, late) | self._answers
            self._end()

    def _end(self) -> None:
        self._is_cancelled = True
        if self._timer is not None:
            self._timer.cancel()
        self._done(self._answers)

    def _answered(self, key: K, answer: R) -> None:
        if key not in self._answers:
            self._running -= 1
            self._answers[key] = answer
            self._look_soon()
