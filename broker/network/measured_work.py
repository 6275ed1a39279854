"""How long a handler that is a coroutine keeps the loop, in all its steps."""

from collections.abc import Callable, Coroutine, Generator
from typing import Any, TypeVar

__all__ = ["MeasuredWork"]

T = TypeVar("T")


class MeasuredWork(Coroutine[Any, Any, T]):
    """``work``; after each step ``noted`` is told how long it took, and all of them by now, in s of ``now_s``."""

    __slots__ = ("_noted", "_now_s", "_took_s", "_work")

    def __init__(
        self, work: Coroutine[Any, Any, T], now_s: Callable[[], float], noted: Callable[[float, float], None]
    ) -> None:
        self._work = work
        self._now_s = now_s
        self._noted = noted
        self._took_s = 0.0

    def send(self, value: Any) -> Any:
        started_s = self._now_s()
        try:
            return self._work.send(value)
        finally:
            self._note(started_s)

    def throw(self, *error: Any) -> Any:
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
        self._noted(step_s, self._took_s)
