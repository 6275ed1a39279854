"""Pools without threads, for tests that decide which job runs when."""

from collections.abc import Callable
from typing import Any

from pybroker.storage.workers.fair_queue import LongWorkSource


class InlinePool:
    """Runs steps at once, and posted callbacks too: for tests without threads."""

    def submit(self, step: Callable[[], None]) -> None:
        step()

    def submit_long(self, step: Callable[[], None], source: LongWorkSource) -> None:
        self.submit(step)

    def post(self, callback: Callable[..., None], *arguments: Any) -> None:
        callback(*arguments)


class ManualPool:
    """Steps wait until they are let go; posted callbacks run when asked for. `bulk`: how many steps came as that."""

    def __init__(self) -> None:
        self.steps: list[Callable[[], None]] = []
        self.long_count = 0
        self.posted: list[tuple[Callable[..., None], tuple[Any, ...]]] = []

    def submit(self, step: Callable[[], None]) -> None:
        self.steps.append(step)

    def submit_long(self, step: Callable[[], None], source: LongWorkSource) -> None:
        self.long_count += 1
        self.submit(step)

    def post(self, callback: Callable[..., None], *arguments: Any) -> None:
        self.posted.append((callback, arguments))

    def run(self) -> None:
        while self.steps or self.posted:
            while self.steps:
                self.steps.pop(0)()
            self.run_posted()

    def run_posted(self) -> None:
        posted, self.posted = self.posted, []
        for callback, arguments in posted:
            callback(*arguments)


class HeldRunner:
    """Steps of moves between log directories wait until they are let go, one by one; what is due later, with them.

    Before each, `step_ms` pass: what a throttle makes it wait.
    """

    def __init__(self, now_ms: int, step_ms: int) -> None:
        self.steps: list[Callable[[], None]] = []
        self.now_ms = now_ms
        self._step_ms = step_ms

    def submit(self, step: Callable[[], None]) -> None:
        self.steps.append(step)

    def later(self, delay_ms: int, callback: Callable[[], None]) -> None:
        self.steps.append(callback)

    def run_one(self) -> None:
        self.now_ms += self._step_ms
        self.steps.pop(0)()

    def run(self) -> None:
        while self.steps:
            self.run_one()
