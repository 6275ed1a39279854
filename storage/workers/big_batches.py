"""Work on batches that are large when unpacked, in another process: one at a time, so that the memory it takes is that
of one batch, and so that neither the interpreter lock nor the processor is taken from those whose batches are small.

The process comes with the first such batch and ends itself when there was none for a while, or with the broker. What is
done is a function of this package, by name, with plain arguments; function, arguments and result are pickled, for both
ends are the same program.
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

__all__ = ["MAX_WAITING", "Apart", "describe_error", "rebuild_error", "run_apart"]

logger = logging.getLogger(__name__)

MAX_WAITING = 2

ResultT = TypeVar("ResultT")


class Apart:
    """The process, and the turn to use it: one has it, ``max_waiting`` may wait for it, each in a thread of its own."""

    def __init__(self, max_waiting: int = MAX_WAITING) -> None:
        self._max_waiting = max_waiting
        self._waiting = 0
        self._turn = threading.Lock()
        self._counting = threading.Lock()
        self.process: subprocess.Popen[bytes] | None = None
        """To look at only; None while there is none."""

    def run(self, function: Callable[..., ResultT], *arguments: Any) -> ResultT:
        """What ``function(*arguments)`` returns, or the KafkaError that it raises. Blocks.

        Raises RequestTimedOutError, which producers try again after, when enough wait already, and when the process
        ends meanwhile.
        """
        with self.turn():
            attempts = 1 if self.process is None else 2  # it may be about to end for want of work
            for _ in range(attempts):
                try:
                    return self._ask(function, arguments)  # type: ignore[no-any-return]
                except (EOFError, OSError, pickle.UnpicklingError) as error:
                    self._end()
                    reason = error
            logger.warning("The process that reads large batches ended in the middle of one: %r", reason)
            raise RequestTimedOutError("The process that reads large batches ended in the middle of one.")

    def close(self) -> None:
        """End the process; the next batch starts another one."""
        with self._turn:
            self._end()

    @contextmanager
    def turn(self) -> Iterator[None]:
        with self._counting:
            if self._waiting > self._max_waiting:
                raise RequestTimedOutError("Too many batches that are large when unpacked came at the same time.")
            self._waiting += 1  # who has the turn counts, too
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
            start_new_session=True,  # Ctrl-C in a terminal is for the broker, which ends this with itself
        )
        threading.Thread(target=self._await_end, args=(process,), name="pybroker-apart", daemon=True).start()
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


_APART = Apart()  # memory is the machine's, and so is the turn


def run_apart(function: Callable[..., ResultT], *arguments: Any) -> ResultT:
    """`Apart.run`, of the one that all brokers in this process share."""
    return _APART.run(function, *arguments)


def describe_error(error: KafkaError) -> tuple[type[KafkaError], tuple[Any, ...], dict[str, Any]]:
    """An error as something that can be pickled, whatever its class wants to be made from."""
    return type(error), error.args, dict(error.__dict__)


def rebuild_error(described: tuple[type[KafkaError], tuple[Any, ...], dict[str, Any]]) -> KafkaError:
    """The error again."""
    error_class, arguments, fields = described
    error = error_class.__new__(error_class, *arguments)
    error.args = arguments
    error.__dict__.update(fields)
    return error
