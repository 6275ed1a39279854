"""Pools without threads, for tests that say what runs when."""

from collections.abc import Callable
from typing import Any


class HeldPool:
    """Steps wait until they are let go; posted callbacks run when asked for."""

    def __init__(self) -> None:
        self.steps: list[Callable[[], None]] = []
        self.posted: list[tuple[Callable[..., None], tuple[Any, ...]]] = []

    def submit(self, step: Callable[[], None]) -> None:
        self.steps.append(step)

    def post(self, callback: Callable[..., None], *arguments: Any) -> None:
        self.posted.append((callback, arguments))

    def run(self) -> None:
        while self.steps or self.posted:
            while self.steps:
                self.steps.pop(0)()
            posted, self.posted = self.posted, []
            for callback, arguments in posted:
                callback(*arguments)
