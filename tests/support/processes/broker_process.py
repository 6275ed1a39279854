"""A real broker process, started as a user starts it."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.processes.forked_process import ForkedProcess
from support.processes.ports import free_port

__all__ = ["BrokerProcess", "DidNotStartError"]

# The last line of a start has the address: "... listening on PLAINTEXT://127.0.0.1:41234 ..."
READY = re.compile(r"pybroker is ready.*?//(?P<host>\[[^\]]+\]|[^:/\s]+):(?P<port>\d+)")

PYBROKER = (sys.executable, "-m", "pybroker")


class DidNotStartError(AssertionError):
    """The process ended before it was ready; has its exit code and output."""

    def __init__(self, exit_code: int, output: str) -> None:
        super().__init__(f"the broker ended with {exit_code} before it was ready:\n{output}")
        self.exit_code = exit_code
        self.output = output


class BrokerProcess:
    """A `pybroker` process on a free port of 127.0.0.1 with its data under `directory`.

    The first start chooses the port unless `settings` do; a restart keeps it, so that clients find the broker again.
    Its process is forked from one that has imported the broker, unless there is a `command`, which gets `--config`.
    """

    def __init__(
        self, directory: Path, settings: Mapping[str, str] | None = None, command: Sequence[str] | None = None
    ) -> None:
        self.directory = directory
        self.settings = dict(settings or {})
        self.command = command
        self.port = 0
        self.lines: list[str] = []
        self._process: subprocess.Popen[str] | ForkedProcess | None = None
        self._reader: threading.Thread | None = None
        self._ready = threading.Event()

    @property
    def bootstrap_servers(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log_directory(self) -> Path:
        return self.directory / "data"

    @property
    def output(self) -> str:
        return "".join(self.lines)

    def properties(self) -> str:
        values = {
            "listeners": f"PLAINTEXT://127.0.0.1:{self.port}",
            "log.dirs": str(self.log_directory),
            "pybroker.http.listeners": "",  # the default address is for one broker of a machine
            **self.settings,
        }
        return "".join(f"{name}={value}\n" for name, value in values.items())

    def start(self) -> "BrokerProcess":
        """Starts the broker and waits until it is ready. Raises DidNotStartError if it ends before."""
        self.begin()
        self.wait_until_ready()
        return self

    def wait_until_ready(self) -> None:
        """Waits after `begin`. Raises DidNotStartError."""
        assert self._process is not None
        self._ready.wait()
        if self._process.poll() is not None:
            raise DidNotStartError(self.wait(), self.output)

    def begin(self) -> None:
        """Starts the process without waiting."""
        self.directory.mkdir(parents=True, exist_ok=True)
        if not self.port and "listeners" not in self.settings:
            self.port = free_port()
        file = self.directory / "server.properties"
        file.write_text(self.properties())
        self._ready.clear()
        # Keep compiled modules like a user's Python, also if the test machine disables that.
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment["PYTHONUNBUFFERED"] = "1"
        words = ["--config", str(file)]
        if self.command is None:
            self._process = ForkedProcess(words, self.directory, environment)
        else:
            self._process = subprocess.Popen(
                [*self.command, *words],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                cwd=self.directory,
                env=environment,
            )
        self._reader = threading.Thread(target=self._read_output, args=(self._process,), daemon=True)
        self._reader.start()

    def _read_output(self, process: "subprocess.Popen[str] | ForkedProcess") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.lines.append(line)
            if match := READY.search(line):
                self.port = int(match["port"])
                self._ready.set()
        process.wait()
        self._ready.set()

    def kill(self) -> int:
        """Kills by SIGKILL; returns the exit code: -9 unless it had ended before."""
        return self._end(signal.SIGKILL)

    def terminate(self) -> None:
        """Sends SIGTERM without waiting."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def stop(self) -> int:
        """Stops by SIGTERM; returns the exit code."""
        return self._end(signal.SIGTERM)

    def _end(self, how: signal.Signals) -> int:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(how)
        return self.wait()

    def wait(self) -> int:
        """Waits for the end; returns the exit code."""
        process = self._process
        if process is None:
            return 0
        exit_code = process.wait()
        if self._reader is not None:
            self._reader.join()
        if process.stdout is not None:
            process.stdout.close()
        self._process = None
        return exit_code

    def __enter__(self) -> "BrokerProcess":
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self._end(signal.SIGTERM if exception[0] is None else signal.SIGKILL)
