"""Pools without threads, for tests that decide which job runs when."""

from collections.abc import Callable
from typing import Any

from pybroker.storage.workers.long_work_queue import LongWorkSource


class InlinePool:
    """Runs steps and posted callbacks at once."""

    def submit(self, step: Callable[[], None]) -> None:
        step()

    def submit_long(self, step: Callable[[], None], source: LongWorkSource) -> None:
        self.submit(step)

    def post(self, callback: Callable[..., None], *arguments: Any) -> None:
        callback(*arguments)


class ManualPool:
    """Keeps steps until the test runs them; posted callbacks run on request. `long_count`: the number of long steps."""

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
    """Keeps steps of log moves, and timers, until the test runs them one by one. `step_ms` pass before each step, as
    for a throttle.
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
