"""Requests that wait for the end of a computation, by the id of its group."""

from collections import deque
from collections.abc import Callable, Generator
from typing import Generic, TypeVar

from .turns import Turns

__all__ = ["Waiters"]

Outcome = TypeVar("Outcome")


class Waiters(Generic[Outcome]):
    """They go on one after another in turns of the event loop. Each is given the outcome of the computation."""

    def __init__(self, turns: Turns) -> None:
        self._turns = turns
        self._waiting: dict[str, list[Callable[[Outcome], None]]] = {}

    def add(self, group_id: str, go_on: Callable[[Outcome], None]) -> None:
        self._waiting.setdefault(group_id, []).append(go_on)

    def release(self, group_id: str, outcome: Outcome) -> None:
        """The computation is over."""
        waiting = deque(self._waiting.pop(group_id, ()))
        if waiting:
            self._go_on(waiting, outcome)

    def _go_on(self, waiting: deque[Callable[[Outcome], None]], outcome: Outcome) -> None:
        def steps() -> Generator[None, None, None]:
            while waiting:
                waiting.popleft()(outcome)
                yield

        def failed(of_one: Exception) -> None:
            self._go_on(waiting, outcome)
            raise of_one

        self._turns.begin(steps(), _ignore, failed)


def _ignore(result: object) -> None:
    """Do nothing."""
