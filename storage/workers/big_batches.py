"""The broker's side of the big-batch process, a child process that works on batches with many or large records.

Why: one batch at a time bounds the memory, and requests with small batches keep the interpreter lock and the processor.
How: the process is started for the first big batch. It ends when it is idle for a while, or with the broker. A job is a
function of this package with plain arguments; function, arguments and result are pickled.
"""

from __future__ import annotations

import logging
import pickle
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from ...protocol.errors import KafkaError, RequestTimedOutError
from ..files.child_program import command_of, end_process

__all__ = ["MAX_WAITING", "BigBatchProcess", "describe_error", "rebuild_error", "run_big_batch"]

logger = logging.getLogger(__name__)

MAX_WAITING = 2

ResultT = TypeVar("ResultT")


class BigBatchProcess:
    """The process. One thread uses it at a time, and at most ``max_waiting`` threads wait for it."""

    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self._max_waiting = max_waiting
        self._waiting = 0
        self._turn = threading.Lock()
        self._counting = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        """The running process, for tests and tools; None while there is none."""

    def run(self, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """Run ``function(*arguments)`` in the process; return its result or raise its KafkaError. Blocks.

        Raises RequestTimedOutError, after which producers retry, when too many threads wait already or the process ends
        during the job.
        """
        with self.reserved():
            attempts = 1 if self.process is None else 2  # an idle process may just be ending
            for _ in range(attempts):
                try:
                    return self._ask(function, arguments)  # type: ignore[no-any-return]
                except (EOFError, OSError, pickle.UnpicklingError) as error:
                    self._end()
                    reason = error
            logger.warning("the big-batch process ended during a job: %r", reason)
            raise RequestTimedOutError("The process for large record batches ended during this request, please retry.")

    def close(self) -> None:
        """End the process; the next batch starts another one."""
        with self._turn:
            self._end()

    @contextmanager
    def reserved(self) -> Iterator[None]:
        """Hold the process for one job. Raises RequestTimedOutError when too many threads wait already."""
        with self._counting:
            if self._waiting > self._max_waiting:
                raise RequestTimedOutError("Too many large record batches at the same time, please retry.")
            self._waiting += 1  # the thread that uses the process counts, too
        try:
            with self._turn:
                yield
        finally:
            with self._counting:
                self._waiting -= 1

    def _ask(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        process = self.process or self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        pickle.dump((function, arguments), process.stdin, pickle.HIGHEST_PROTOCOL)
        process.stdin.flush()
        is_result, value = pickle.load(process.stdout)
        if is_result:
            return value
        raise rebuild_error(value)

    def _started(self) -> subprocess.Popen[bytes]:
        self.process = process = subprocess.Popen(
            command_of(f"{__package__}.big_batch_process"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # so that Ctrl-C in a terminal reaches the broker only, which ends the process
        )
        threading.Thread(target=self._await_end, args=(process,), name="pybroker-big-batches", daemon=True).start()
        return process

    def _await_end(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        with self._turn:
            if self.process is process:
                self._end()

    def _end(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            end_process(process)


_SHARED = BigBatchProcess()  # one for all brokers in this process, because they share the machine's memory


def run_big_batch(function: Callable[..., ResultT], *arguments: Any) -> ResultT:
    """Run a function in the big-batch process that all brokers of this process share (`BigBatchProcess.run`)."""
    return _SHARED.run(function, *arguments)


def describe_error(error: KafkaError) -> tuple[type[KafkaError], tuple[Any, ...], dict[str, Any]]:
    """Describe an error by values that can be pickled, whatever arguments its class takes."""
    return type(error), error.args, dict(error.__dict__)


def rebuild_error(described: tuple[type[KafkaError], tuple[Any, ...], dict[str, Any]]) -> KafkaError:
    """Return the error that `describe_error` described."""
    error_class, arguments, fields = described
    error = error_class.__new__(error_class, *arguments)
    error.args = arguments
    error.__dict__.update(fields)
    return error
