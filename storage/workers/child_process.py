"""Runs tasks in a child process: the parent's side (`ChildProcess`) and the child's (`serve_tasks`).

**How.** The child is a new Python process (spawned, because the broker has threads) with the parent's import path. A
task goes to its stdin, and messages come from its stdout, all pickled: any number of progress values, then the result
or the error with its class. One task at a time.

**Limits.** The child exits at once when its stdin closes, even in the middle of a task: it never outlives its parent.
"""

from __future__ import annotations

import json
import os
import pickle
import sys
import threading
import traceback
from collections.abc import Callable
from contextlib import suppress
from queue import Empty, SimpleQueue
from subprocess import PIPE, Popen
from typing import Any, BinaryIO, NamedTuple

from ...protocol.errors import KafkaError

__all__ = ["ChildEndedError", "ChildProcess", "serve_tasks"]

_START = "import sys, json; sys.path[:] = json.loads(sys.argv[1]); from {module} import main; main()"

Progress = Callable[[Any], None]


class ChildEndedError(Exception):
    """The child process could not be started, ended in the middle of a task, or sent bytes that are no message."""


class _Progress(NamedTuple):
    value: Any


class _Result(NamedTuple):
    value: Any


class _Failure(NamedTuple):
    """A KafkaError or OSError in a form that can be pickled, whatever arguments its class wants."""

    error_class: type[Exception]
    arguments: tuple[Any, ...]
    fields: dict[str, Any]

    @classmethod
    def of(cls, error: Exception) -> _Failure:
        arguments = error.__reduce__()[1]  # those of an OSError include its file name, which `args` does not
        assert isinstance(arguments, tuple)
        return cls(type(error), arguments, dict(error.__dict__))

    def error(self) -> Exception:
        error = self.error_class.__new__(self.error_class, *self.arguments)
        if not isinstance(error, OSError):  # which sets its own
            error.args = self.arguments
        error.__dict__.update(self.fields)
        return error


class ChildProcess:
    """A child that runs ``main()`` of a module, which calls `serve_tasks`. Raises ChildEndedError."""

    def __init__(self, module: str) -> None:
        """``module`` is the full name."""
        try:
            self._process = Popen(
                command_of(module),
                stdin=PIPE,
                stdout=PIPE,
                start_new_session=True,  # Ctrl-C in a terminal is for the parent, which ends the child
            )
        except OSError as error:
            raise ChildEndedError(f"the child process could not be started: {error}") from error

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, task: Any, on_progress: Progress = lambda value: None) -> Any:
        """The result of a task. Blocks; each progress value is passed on as it comes.

        Raises the KafkaError or OSError that the task raised, or ChildEndedError.
        """
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            pickle.dump(task, stdin, pickle.HIGHEST_PROTOCOL)
            stdin.flush()
        except (OSError, ValueError) as error:  # ValueError: the pipe was closed by `end`
            raise ChildEndedError(f"the child process takes no task: {error}") from error
        while isinstance(message := self._next_message(stdout), _Progress):
            on_progress(message.value)
        if isinstance(message, _Failure):
            raise message.error()
        return message.value

    def kill(self) -> None:
        """From any thread. A thread in `run` gets ChildEndedError."""
        self._process.kill()

    def wait(self) -> int:
        """Block until the child has ended; returns its exit code, negative for a signal."""
        return self._process.wait()

    def end(self) -> None:
        """Kill the child, wait for its end, and close the pipes."""
        self.kill()
        self.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # unwritten bytes have no reader any more
                    pipe.close()

    def _next_message(self, stdout: Any) -> _Progress | _Result | _Failure:
        try:
            message = pickle.load(stdout)
        except EOFError:
            raise ChildEndedError(f"the child process ended with code {self.wait()}") from None
        except (OSError, ValueError, pickle.UnpicklingError) as error:
            raise ChildEndedError(f"the child process cannot be read from: {error}") from error
        if not isinstance(message, _Progress | _Result | _Failure):
            raise ChildEndedError(f"the child process sent {type(message).__name__}, which is no message")
        return message


def command_of(module: str) -> list[str]:
    """The command that runs ``main()`` of a module with this process's import path."""
    return [sys.executable, "-c", _START.format(module=module), json.dumps(sys.path)]


def serve_tasks(run: Callable[[Any, Progress], Any], *, niceness: int = 0, idle_s: float | None = None) -> None:
    """The child's side: run each task until stdin closes, or no task came for ``idle_s`` seconds. Does not return.

    ``run(task, report)`` returns the result; ``report(value)`` sends progress. A KafkaError or OSError is sent to the
    parent; any other exception prints a traceback and ends the process with code 1.
    """
    os.nice(niceness)
    messages = open(os.dup(sys.stdout.fileno()), "wb")  # noqa: SIM115 - until the process ends
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what the task prints must not mix with the messages
    tasks: SimpleQueue[Any] = SimpleQueue()
    threading.Thread(target=_listen, args=(sys.stdin.buffer, tasks), daemon=True).start()
    try:
        while True:
            _send(messages, _outcome(run, tasks.get(timeout=idle_s), lambda value: _send(messages, _Progress(value))))
    except Empty:
        code = 0
    except BaseException:
        traceback.print_exc()
        code = 1
    os._exit(code)  # an ordinary exit would wait for the lock of stdin, which the listening thread holds


def _outcome(run: Callable[[Any, Progress], Any], task: Any, report: Progress) -> _Result | _Failure:
    try:
        return _Result(run(task, report))
    except (KafkaError, OSError) as error:
        return _Failure.of(error)


def _send(messages: BinaryIO, message: _Progress | _Result | _Failure) -> None:
    try:
        pickle.dump(message, messages, pickle.HIGHEST_PROTOCOL)
        messages.flush()
    except BrokenPipeError:
        os._exit(0)  # the parent is gone


def _listen(stdin: BinaryIO, tasks: SimpleQueue[Any]) -> None:
    with suppress(EOFError):
        while True:
            tasks.put(pickle.load(stdin))
    os._exit(0)
