"""Threads that do what may block, and the way back to the event loop.

Bulk is what may keep a thread for long, or come by the thousand: a quarter of the threads do it at most, one step after
the other with what else is queued in between, and those who have it done take turns (see `bulk_queue`). So nothing that
a client asks for keeps others' appends waiting for long.

Results of several steps go back in one wake-up: a `call_soon_threadsafe` costs more than a small write does.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from queue import Empty, SimpleQueue
from typing import Any, Protocol

from .bulk_queue import BulkQueue, BulkSource

logger = logging.getLogger(__name__)

_THREADS_FOR_ONE_OF_BULK = 4


class PoolClosedError(RuntimeError):
    """No worker is left that would take the step."""


class Pool(Protocol):
    """Where steps run, and how their results come back. A simulation passes one that has no threads."""

    def submit(self, step: Callable[[], None]) -> None:
        """Run `step` on some worker, soon. Steps handle their own errors. Raises PoolClosedError."""

    def submit_bulk(self, step: Callable[[], None], source: BulkSource) -> None:
        """Likewise, when few such steps are under way, and it is the turn of `source`."""

    def post(self, callback: Callable[..., None], *arguments: Any) -> None:
        """Run `callback` on the loop, from any thread; callbacks run in the order they were posted."""


class WorkerPool:
    """`thread_count` daemon threads. Made on the loop's thread; `close` waits for what is queued. `now_s`: a
    stopwatch."""

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
        self._bulk = BulkQueue()
        self._bulk_runners = 0
        self._bulk_lock = threading.Lock()
        self._threads: list[threading.Thread] = []
        self._surplus: list[threading.Thread] = []  # any of the threads may end in place of one of these
        self._posted: deque[tuple[Callable[..., None], tuple[Any, ...]]] = deque()
        self._wake_up_is_due = False
        self._closed = False
        self._killed = False
        self.resize(thread_count)

    @property
    def thread_count(self) -> int:
        return len(self._threads)

    def submit(self, step: Callable[[], None]) -> None:
        if self._takes_steps():
            self._steps.put(step)

    def submit_bulk(self, step: Callable[[], None], source: BulkSource) -> None:
        with self._bulk_lock:
            if not self._takes_steps():
                return
            self._bulk.put(step, source)
            if self._bulk_runners < self._most_bulk_runners:
                self._bulk_runners += 1
                self._steps.put(self._run_bulk)

    def _takes_steps(self) -> bool:
        """Raises PoolClosedError."""
        if self._closed and not self._killed:
            raise PoolClosedError(f"{self._name} is closed")
        return not self._killed

    @property
    def _most_bulk_runners(self) -> int:
        return max(1, len(self._threads) // _THREADS_FOR_ONE_OF_BULK)

    def _run_bulk(self) -> None:
        """One step of bulk; the next one behind what came meanwhile, or at once when nothing comes any more."""
        is_last = False
        while not is_last:
            with self._bulk_lock:
                turn = self._bulk.take() if self._bulk else None  # none: killed
            started_s = self._now_s()
            if turn is not None:
                self._run(turn.step)
            with self._bulk_lock:
                if turn is not None:
                    self._bulk.note(turn, self._now_s() - started_s)
                is_last = not self._bulk or self._bulk_runners > self._most_bulk_runners
                if is_last:
                    self._bulk_runners -= 1
                elif not self._closed:
                    self._steps.put(self._run_bulk)
                    return

    def post(self, callback: Callable[..., None], *arguments: Any) -> None:
        if self._killed:
            return
        self._posted.append((callback, arguments))
        # Two threads may both see False and wake the loop twice, which is harmless. None is lost: the loop clears the
        # flag before it looks at what is there.
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
            except Exception as error:  # like a callback of the loop itself: the others must run
                self._loop.call_exception_handler({"message": f"{self._name}: a callback failed", "exception": error})

    def resize(self, thread_count: int) -> None:
        """Have that many threads (dynamic `num.io.threads`), or as many as the system gives; surplus ones end after
        their step. RuntimeError: it gives none at all."""
        while len(self._threads) < thread_count:
            number = len(self._threads)
            thread = threading.Thread(target=self._work, name=f"{self._name}-{number}", daemon=True)
            try:
                thread.start()
            except RuntimeError as error:
                if not self._threads:
                    raise
                logger.error("%s: %d threads in place of %d: %s", self._name, number, thread_count, error)
                break
            self._threads.append(thread)
        self._surplus = [thread for thread in self._surplus if thread.is_alive()]
        while len(self._threads) > thread_count:
            self._surplus.append(self._threads.pop())
            self._steps.put(None)

    def close(self) -> None:
        """Finish what is queued and end the threads. Their results are still posted."""
        with self._bulk_lock:  # whatever runs bulk is queued before this, or goes on to the last
            if self._closed:
                return
            self._closed = True
        self.resize(0)
        for thread in self._surplus:
            thread.join()

    def kill(self) -> None:
        """End the threads as a crash does: what is queued never runs, and nothing is posted any more.

        Waits for the steps that run just now.
        """
        self._killed = True
        with self._bulk_lock:
            self._bulk.clear()
        with contextlib.suppress(Empty):
            while True:
                self._steps.get_nowait()
        for _ in self._surplus:  # what tells them to end was among it
            self._steps.put(None)
        self.close()
        self._posted.clear()

    def _work(self) -> None:
        while True:
            step = self._steps.get()
            if step is None:
                return
            self._run(step)
            del step  # it holds what it worked on

    def _run(self, step: Callable[[], None]) -> None:
        try:
            step()
        except Exception:
            logger.exception("%s: a step failed", self._name)
