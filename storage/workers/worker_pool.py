"""Worker threads for blocking steps, and how their results come back to the event loop.

How: long work (steps that may occupy a thread for long, or come by the thousand) gets at most a quarter of the threads.
Other queued steps run between two long ones, and the sources of long work share its time evenly
(`long_work_queue.py`). So no request makes other clients' appends wait for long. Results of several steps return in one
wake-up, because `call_soon_threadsafe` costs more than a small write.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from .long_work_queue import LongWorkQueue, LongWorkSource

logger = logging.getLogger(__name__)

_THREADS_PER_LONG_RUNNER = 4


class PoolClosedError(RuntimeError):
    """The pool is closed and takes no more steps."""


class Pool(Protocol):
    """Runs steps and returns their results to the event loop. A simulation passes a pool without threads."""

    def submit(self, step: Callable[[], None]) -> None:
        """Run `step` on some worker, soon. Steps handle their own errors. Raises PoolClosedError."""

    def submit_long(self, step: Callable[[], None], source: LongWorkSource) -> None:
        """Run a long `step` once the limit on long work and the fair share of `source` allow it."""

    def post(self, callback: Callable[..., None], *arguments: Any) -> None:
        """Run `callback` on the loop, from any thread; callbacks run in the order they were posted."""


class ClosablePool(Pool, Protocol):
    """Worker threads, or their replacement in a simulation."""

    def resize(self, thread_count: int) -> None:
        """Change the number of workers."""

    def close(self) -> None:
        """Finish the queued work. Blocks."""

    def kill(self) -> None:
        """Drop the queued work, wait for the steps that are running, and post no more results."""


class WorkerPool:
    """A pool of `thread_count` daemon threads, created on the event loop's thread. `now_s` is a monotonic clock.

    The first thread starts with the pool, and each other one when there are more unfinished steps than threads.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        thread_count: int,
        name: str = "pybroker-io",
        now_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._loop = loop
        self._name = name
        self._now_s = now_s
        self._steps: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._long_work = LongWorkQueue()
        self._long_runners = 0
        self._long_lock = threading.Lock()
        self._size = 0
        self._threads: list[threading.Thread] = []
        self._starting = threading.Lock()
        self._numbers = itertools.count(1)
        self._finished: dict[int, int] = {}
        """The number of finished steps by thread. Only the thread itself counts, so that no lock is needed."""
        self._surplus: list[threading.Thread] = []  # threads that end soon; any thread may end in their place
        self._posted: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._wake_up_is_due = False
        self._closed = False
        self._killed = False
        self._running: set[int] = set()  # the threads that run a step
        self.resize(thread_count)

    def submit(self, step: Callable[[], None]) -> None:
        if self._takes_steps():
            self._queue(step)

    def submit_long(self, step: Callable[[], None], source: LongWorkSource) -> None:
        with self._long_lock:
            if not self._takes_steps():
                return
            self._long_work.put(step, source)
            if self._long_runners < self._max_long_runners:
                self._long_runners += 1
                self._queue(self._run_long)

    def _queue(self, step: Callable[[], None]) -> None:
        queued = next(self._numbers)
        self._steps.put(step)
        if len(self._threads) < self._size:
            with self._starting:
                unfinished = queued - sum(list(self._finished.values()))
                if len(self._threads) < min(self._size, unfinished):
                    self._start_thread()

    def _takes_steps(self) -> bool:
        """Raises PoolClosedError."""
        if self._closed and not self._killed:
            raise PoolClosedError(f"{self._name} is closed")
        return not self._killed

    @property
    def _max_long_runners(self) -> int:
        return max(1, self._size // _THREADS_PER_LONG_RUNNER)

    def _run_long(self) -> None:
        """Run one step of long work, then queue again behind the other steps.

        A closed pool runs all the rest at once.
        """
        is_last = False
        while not is_last:
            with self._long_lock:
                due = self._long_work.take() if self._long_work else None  # None after `kill`
            started_s = self._now_s()
            if due is not None:
                self._run(due.step)
            with self._long_lock:
                if due is not None:
                    self._long_work.note(due, self._now_s() - started_s)
                is_last = not self._long_work or self._long_runners > self._max_long_runners
                if is_last:
                    self._long_runners -= 1
                elif not self._closed:
                    self._queue(self._run_long)
                    return

    def post(self, callback: Callable[..., None], *arguments: Any) -> None:
        if self._killed:
            return
        self._posted.append((callback, arguments))
        # Two threads may both see False and wake the loop twice, which is harmless. No callback is lost, because the
        # loop clears the flag before it looks at the queue.
        if not self._wake_up_is_due:
            self._wake_up_is_due = True
            try:
                self._loop.call_soon_threadsafe(self._run_posted)
            except RuntimeError:
                if not self._loop.is_closed():
                    raise
                logger.debug("%s: a result came after the loop was closed", self._name)

    def _run_posted(self) -> None:
        self._wake_up_is_due = False
        posted = self._posted
        while posted:
            callback, arguments = posted.popleft()
            try:
                callback(*arguments)
            except Exception as error:  # as for a callback of the loop itself: the other callbacks must run
                self._loop.call_exception_handler({"message": f"{self._name}: a callback failed", "exception": error})

    def resize(self, thread_count: int) -> None:
        """Change the number of threads (dynamic `num.io.threads`). Surplus threads end after their current step.

        When the system refuses more threads the pool goes on with fewer; raises RuntimeError when it has none.
        """
        with self._starting:
            self._size = thread_count
            if thread_count and not self._threads:
                self._start_thread()
            self._surplus = [thread for thread in self._surplus if thread.is_alive()]
            while len(self._threads) > thread_count:
                self._surplus.append(self._threads.pop())
                self._steps.put(None)

    def _start_thread(self) -> None:
        number = len(self._threads)
        thread = threading.Thread(target=self._work, name=f"{self._name}-{number}", daemon=True)
        try:
            thread.start()
        except RuntimeError as error:
            if not self._threads:
                raise
            logger.error("%s: only %d of %d threads could be started: %s", self._name, number, self._size, error)
            self._size = number
        else:
            self._threads.append(thread)

    def close(self) -> None:
        """Run all queued steps and end the threads. The results are still posted. Blocks."""
        with self._long_lock:  # long work is queued before this, or its runner goes on to the end
            if self._closed:
                return
            self._closed = True
        self.resize(0)
        for thread in self._surplus:
            thread.join()

    def kill(self) -> None:
        """End the threads as a crash does: queued steps never run, and nothing more is posted.

        Waits for running steps.
        """
        self._killed = True
        with self._long_lock:
            self._long_work.clear()
        with contextlib.suppress(Empty):
            while True:
                self._steps.get_nowait()
        for _ in self._surplus:  # their signal to end was dropped with the queued steps
            self._steps.put(None)
        self.close()
        self._posted.clear()

    @property
    def thread_count(self) -> int:
        """The threads that the pool has or may start."""
        return self._size

    @property
    def busy_count(self) -> int:
        """The threads that run a step now."""
        return len(self._running)

    @property
    def waiting_count(self) -> int:
        """The steps that wait for a thread, about."""
        return self._steps.qsize()

    def _work(self) -> None:
        number = threading.get_ident()
        self._finished.setdefault(number, 0)  # the system may give the number of a thread that ended
        while True:
            step = self._steps.get()
            if step is None:
                return
            self._running.add(number)
            self._run(step)
            self._running.discard(number)
            self._finished[number] += 1
            del step  # so that the objects it refers to are freed

    def _run(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception:
            logger.exception("%s: a step failed", self._name)
