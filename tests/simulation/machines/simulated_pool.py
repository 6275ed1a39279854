"""Replaces threads and child processes by events of the loop, which do the work a little later in virtual time."""

from asyncio import TimerHandle
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

from pybroker.protocol.errors import KafkaError
from pybroker.storage.compaction.cleaner_child import ReportCallback
from pybroker.storage.compaction.compaction_job import CompactionFailed, CompactionJob
from pybroker.storage.compaction.segment_cleaner import compact
from pybroker.storage.workers.long_work_queue import LongWorkSource
from pybroker.storage.workers.worker_pool import PoolClosedError
from simulation.machines.simulated_files import SimulatedFiles
from simulation.machines.virtual_loop import VirtualLoop

__all__ = ["InlineCompaction", "SimulatedPool"]

_SOONEST_S = 0.00002
_LATEST_S = 0.001

Posts = list[tuple[Callable[..., None], tuple[Any, ...]]]
"""The callbacks that a step posted, with their arguments."""


@dataclass(frozen=True)
class _Step:
    timer: TimerHandle
    posts: Posts
    context: Context


class SimulatedPool:
    """Workers that run steps in the order of submission.

    A step runs in one loop callback, shortly after a worker is free. Its own callbacks run after the simulated time
    of its disk operations, so steps of other workers may complete earlier.
    """

    def __init__(self, loop: VirtualLoop, workers: int, random: Random, files: SimulatedFiles) -> None:
        self._loop = loop
        self._random = random
        self._files = files
        self._free = workers
        self._workers = workers
        self._queue: deque[Callable[[], None]] = deque()
        self._posts: Posts | None = None
        self._steps = 0
        self._under_way: dict[int, _Step] = {}
        """Completed steps whose simulated disk time is not over, by number."""
        self._is_closed = False
        self._is_killed = False

    @property
    def is_killed(self) -> bool:
        return self._is_killed

    def submit(self, step: Callable[[], None]) -> None:
        if self._is_killed:
            return
        if self._is_closed:
            raise PoolClosedError("the pool is closed")
        self._queue.append(step)
        self._start()

    def submit_long(self, step: Callable[[], None], source: LongWorkSource) -> None:
        self.submit(step)

    def _start(self) -> None:
        while self._free > 0 and self._queue:
            self._free -= 1
            delay_s = self._random.uniform(_SOONEST_S, _LATEST_S)
            self._loop.call_later(delay_s, self._run, self._queue.popleft())

    def _run(self, step: Callable[[], None]) -> None:
        if self._is_killed:
            return
        took_s = self._carry_out(step)
        self._steps += 1
        timer = self._loop.call_later(took_s, self._end, self._steps)
        self._under_way[self._steps] = _Step(timer, self._taken_posts, copy_context())

    def hurry(self) -> None:
        """Complete all steps that a slow disk delays, in the same order."""
        steps = sorted(self._under_way.values(), key=lambda step: step.timer.when())
        self._under_way.clear()
        for step in steps:
            step.timer.cancel()
            self._loop.call_soon(self._finished, step.posts, context=step.context)

    def _end(self, number: int) -> None:
        self._finished(self._under_way.pop(number).posts)

    def _carry_out(self, step: Callable[[], None]) -> float:
        """Run a step; returns its duration in seconds."""
        disk = self._files.disk
        disk.now_ms = self._files.clock_ms()
        spent_s = disk.spent_s
        outer, self._posts = self._posts, []
        try:
            step()
        except Exception as error:
            self._loop.call_exception_handler({"message": "a step failed", "exception": error})
        self._taken_posts, self._posts = self._posts, outer
        return disk.spent_s - spent_s

    def _finished(self, posts: Posts) -> None:
        self._free += 1
        self._deliver(posts)
        self._start()

    def _deliver(self, posts: Posts) -> None:
        for callback, arguments in posts:
            if self._is_killed:
                return
            try:
                callback(*arguments)
            except Exception as error:
                self._loop.call_exception_handler({"message": "a callback failed", "exception": error})

    def post(self, callback: Callable[..., None], *arguments: Any) -> None:
        if self._is_killed:
            return
        if self._posts is None:
            self._loop.call_soon(self._deliver, [(callback, arguments)])
        else:
            self._posts.append((callback, arguments))

    def resize(self, thread_count: int) -> None:
        self._free += thread_count - self._workers
        self._workers = thread_count
        self._start()

    def close(self) -> None:
        """Run queued steps at once; their callbacks run later."""
        self._is_closed = True
        while self._queue:
            self._carry_out(self._queue.popleft())
            self._loop.call_soon(self._deliver, self._taken_posts)

    def kill(self) -> None:
        self._is_killed = True
        self._queue.clear()


class InlineCompaction:
    """A `CompactionWorker` that runs each job in one go, a little later. `done` is called after each."""

    def __init__(self, loop: VirtualLoop, files: SimulatedFiles, done: Callable[[], None]) -> None:
        self._loop = loop
        self._done = done
        self._files = files
        self._is_stopped = False

    def run(self, job: CompactionJob, callback: ReportCallback) -> None:
        self._loop.call_later(_LATEST_S, partial(self._work, job, callback))

    def _work(self, job: CompactionJob, callback: ReportCallback) -> None:
        if self._is_stopped:
            return
        try:
            compact(job, self._files, callback, self._loop.time, lambda seconds: None)
            self._done()
        except OSError as error:
            callback(CompactionFailed(str(error), error.errno or 0))
        except KafkaError as error:
            callback(CompactionFailed(f"{type(error).__name__}: {error}"))

    def stop(self) -> None:
        self._is_stopped = True
