"""A `pybroker` process that is forked from one with all imports done: a start takes 0.07 s of CPU time, not 0.8 s."""

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

__all__ = ["Ended", "ForkedProcess", "forked_cpu_seconds", "run_forked"]

_PROGRAM = Path(__file__).with_name("fork_server.py")

_lock = threading.Lock()
_servers: dict[int, socket.socket] = {}
"""By the id of the process that started it: one that was forked from it needs its own."""
_used_by_ended: list[float] = []


def forked_cpu_seconds() -> float:
    """The CPU seconds of the processes that have been waited for, which the system adds to the server's children."""
    return sum(_used_by_ended)


def _server() -> socket.socket:
    with _lock:
        if os.getpid() not in _servers:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            number = theirs.fileno()
            environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
            # Keep compiled modules like a user's Python, also if the test machine disables that.
            environment.pop("PYTHONDONTWRITEBYTECODE", None)
            process = subprocess.Popen([sys.executable, str(_PROGRAM), str(number)], pass_fds=[number], env=environment)
            theirs.close()
            _servers[os.getpid()] = ours
            atexit.register(process.wait)
            atexit.register(ours.close)  # before the wait: the last that is registered is called first
        return _servers[os.getpid()]


class ForkedProcess:
    """Has what is used here of `subprocess.Popen` with the output as text: the process is not a child of this one."""

    def __init__(self, words: Sequence[str], directory: Path, environment: Mapping[str, str]) -> None:
        order = {"words": list(words), "directory": str(directory), "environment": dict(environment)}
        output, output_end = os.pipe()
        response, response_end = os.pipe()
        try:
            socket.send_fds(_server(), [json.dumps(order).encode()], [output_end, response_end])
        finally:
            os.close(output_end)
            os.close(response_end)
        self.stdout = open(output, encoding="utf-8", errors="surrogateescape")  # noqa: SIM115 - closed by its reader
        self._response = open(response, "rb", buffering=0)  # noqa: SIM115 - closed at the end of the process
        self._is_waited_for = threading.Lock()
        self.returncode: int | None = None
        self.pid = int(self._response.readline())

    def poll(self) -> int | None:
        """The exit code, as `subprocess.Popen` gives it, or None."""
        if self._is_waited_for.acquire(blocking=False):
            try:
                if self.returncode is None and select.select([self._response], [], [], 0)[0]:
                    self._read_status()
            finally:
                self._is_waited_for.release()
        return self.returncode

    def wait(self) -> int:
        """Waits for the end; returns the exit code."""
        with self._is_waited_for:
            if self.returncode is None:
                self._read_status()
        assert self.returncode is not None
        return self.returncode

    def _read_status(self) -> None:
        status, used = self._response.readline().split()
        self._response.close()
        _used_by_ended.append(float(used))
        self.returncode = os.waitstatus_to_exitcode(int(status))

    def send_signal(self, number: signal.Signals) -> None:
        """Sends a signal unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)


class Ended(NamedTuple):
    """How a process ended. ``output``: of standard output and standard error."""

    exit_code: int
    output: str


def run_forked(words: Sequence[str], directory: Path) -> Ended:
    """Runs the command `pybroker` in this directory and waits for its end."""
    process = ForkedProcess(words, directory, os.environ)
    with process.stdout as output:
        told = output.read()
    return Ended(process.wait(), told)
