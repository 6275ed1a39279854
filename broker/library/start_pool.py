"""A worker pool that starts no thread until its broker has started."""

import asyncio
from collections.abc import Callable

from ...storage.workers.long_work_queue import LongWorkSource
from ...storage.workers.worker_pool import WorkerPool

__all__ = ["MarkedPools", "StartPool"]


class StartPool(WorkerPool):
    """Runs the steps of a start on the event loop, which serves nobody yet, and later ones in threads.

    A start without data has half a dozen short steps. To hand each to a thread takes longer than the step.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, thread_count: int, name: str) -> None:
        self._is_starting = True
        super().__init__(loop, thread_count, name)

    def submit(self, step: Callable[[], None]) -> None:
        if self._is_starting:
            self._run(step)
        else:
            super().submit(step)

    def submit_long(self, step: Callable[[], None], source: LongWorkSource) -> None:
        if self._is_starting:
            self._run(step)
        else:
            super().submit_long(step, source)

    def resize(self, thread_count: int) -> None:
        if self._is_starting:
            self._size = thread_count
        else:
            super().resize(thread_count)

    def start_is_over(self) -> None:
        self._is_starting = False


class MarkedPools:
    """Makes the pools of a start, with ``mark`` in the names of their threads. ``is_new``: the broker has no data."""

    def __init__(self, mark: str, *, is_new: bool) -> None:
        self._mark = mark
        self._is_new = is_new
        self._starting: list[StartPool] = []

    def make(self, loop: asyncio.AbstractEventLoop, thread_count: int, name: str) -> WorkerPool:
        name = f"{name}-{self._mark}"
        if not self._is_new:
            return WorkerPool(loop, thread_count, name)
        self._starting.append(StartPool(loop, thread_count, name))
        return self._starting[-1]

    def start_is_over(self) -> None:
        for pool in self._starting:
            pool.start_is_over()
