"""The broker's side of the big-batch process, a child process that works on batches with many or large records.

Why: one batch at a time bounds the memory, and requests with small batches keep the interpreter lock and the processor.
How: the process is started for the first big batch. It ends when it is idle for a while, or with the broker. A job is a
function of this package with arguments that can be pickled.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ...protocol.errors import RequestTimedOutError
from .child_process import ChildEndedError, ChildProcess

__all__ = ["MAX_WAITING", "BigBatchProcess", "run_big_batch"]

logger = logging.getLogger(__name__)

MAX_WAITING = 2

ResultT = TypeVar("ResultT")


class BigBatchProcess:
    """The process. One thread uses it at a time, and at most ``max_waiting`` threads wait for it."""

    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self._max_waiting = max_waiting
        self._waiting = 0
        self._child_lock = threading.Lock()
        self._waiting_lock = threading.Lock()
        self.child: ChildProcess | None = None
        """The running process, for tests and tools; None while there is none."""

    def run(self, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Run ``function(*arguments)`` in the process; return its result or raise its KafkaError or OSError. Blocks.

        Also raises RequestTimedOutError, after which producers retry, when too many threads wait already or the process
        ends during the job.
        """
        with self.reserved():
            attempts = 1 if self.child is None else 2  # an idle process may just be ending
            for _ in range(attempts):
                try:
                    child = self.child or self._started()
                    return child.run((function, arguments))  # type: ignore[no-any-return]
                except ChildEndedError as error:
                    self._end()
                    reason = error
            logger.warning("the big-batch process ended during a job, the client is told to retry: %s", reason)
            raise RequestTimedOutError("The process for large record batches ended during this request, please retry.")

    def close(self) -> None:
        """End the process; the next batch starts another one."""
        with self._child_lock:
            self._end()

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Hold the process for one job. Raises RequestTimedOutError when too many threads wait already."""
        with self._waiting_lock:
            if self._waiting > self._max_waiting:
                raise RequestTimedOutError("Too many large record batches at the same time, please retry.")
            self._waiting += 1  # the thread that uses the process counts, too
        try:
            with self._child_lock:
                yield
        finally:
            with self._waiting_lock:
                self._waiting -= 1

    def _started(self) -> ChildProcess:
        self.child = child = ChildProcess(f"{__package__}.big_batch_process")
        threading.Thread(target=self._await_end, args=(child,), name="pybroker-big-batches", daemon=True).start()
        return child

    def _await_end(self, child: ChildProcess) -> None:
        child.wait()
        with self._child_lock:
            if self.child is child:
                self._end()

    def _end(self) -> None:
        child, self.child = self.child, None
        if child is not None:
            child.end()


_SHARED = BigBatchProcess()  # one for all brokers in this process, because they share the machine's memory


def run_big_batch(function: Callable[..., ResultT], *arguments: Any) -> ResultT:
    """Run a function in the big-batch process that all brokers of this process share (`BigBatchProcess.run`)."""
    return _SHARED.run(function, *arguments)
