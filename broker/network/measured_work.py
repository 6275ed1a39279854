"""A handler that is a coroutine: how long it keeps the loop, and its turns with others of its kind."""

from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

from .step_turns import StepTurns

__all__ = ["MeasuredWork"]

T = TypeVar("T")


class MeasuredWork(Coroutine[Any, Any, T]):
    """``work``, for a task; after each step ``noted`` is told how long it took, and all of them by now, in s of
    ``now_s``. After the first one ``begun`` is called, and what the connection has asked for next may begin.
    """

    __slots__ = ("_begun", "_noted", "_now_s", "_took_s", "_turns", "_waits", "_work")

    def __init__(
        self,
        work: Coroutine[Any, Any, T],
        now_s: Callable[[], float],
        noted: Callable[[float, float], None],
        begun: Callable[[], object],
        turns: StepTurns,
    ) -> None:
        self._work = work
        self._now_s = now_s
        self._noted = noted
        self._begun: Callable[[], object] | None = begun
        self._turns = turns
        self._took_s = 0.0
        self._waits = False  # for its turn

    def send(self, value: Any) -> Any:
        if not self._waits and not self._turns.is_free:
            self._waits = True
            return next(self._turns.wait().__await__())  # what the task is to wait for
        self._waits = False
        started_s = self._now_s()
        try:
            return self._work.send(value)
        finally:
            self._note(started_s)

    def throw(self, *error: Any) -> Any:
        self._waits = False
        started_s = self._now_s()
        try:
            return self._work.throw(*error)
        finally:
            self._note(started_s)

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, T]:
        return self._work.__await__()

    def _note(self, started_s: float) -> None:
        step_s = self._now_s() - started_s
        self._took_s += step_s
        self._turns.took(step_s)
        self._noted(step_s, self._took_s)
        if self._begun is not None:
            begun, self._begun = self._begun, None
            begun()
