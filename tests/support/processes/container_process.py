"""Runs the program of a container image as a process of this machine, with its own environment."""

import re
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from support.processes.ports import free_port
from support.time.patience import await_that

__all__ = ["ContainerProcess"]

PATH = "/usr/local/bin:/usr/bin:/bin"


class ContainerProcess:
    """Runs `command` of the image below `root`; without a root, a command of this machine."""

    def __init__(self, command: Sequence[str], root: Path | None, environment: Mapping[str, str]) -> None:
        self.environment = {"PATH": PATH, **environment}
        self.exit_code: int | None = None
        self._root = root
        self._command = command
        self._output: list[str] = []
        self._process: subprocess.Popen[str] | None = None
        self._reader: threading.Thread | None = None

    @staticmethod
    def free_port() -> int:
        return free_port()

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def output(self) -> str:
        return "".join(self._output)

    def start(self) -> Self:
        """Starts the program; waits until the broker has logged that it is ready, also in Kafka's
        words, or has ended."""
        self.begin()
        self.says(r"\[KafkaServer id=")
        return self

    def begin(self) -> None:
        self._process = subprocess.Popen(
            self._below_root(self._command),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            env=self.environment,
        )
        self._reader = threading.Thread(target=self._read, args=[self._process], daemon=True)
        self._reader.start()

    def says(self, pattern: str) -> bool:
        """Waits for a line of output; returns False if the process ends without it."""
        process = self._process
        assert process is not None
        await_that(lambda: re.search(pattern, self.output) or process.poll() is not None, f"{pattern} or the end")
        if process.poll() is not None:
            self.wait()
        return re.search(pattern, self.output) is not None

    def health(self, check: Sequence[str]) -> int:
        """Runs a command inside; returns its exit code."""
        done = subprocess.run(self._below_root(check), env=self.environment, capture_output=True, check=False)
        return done.returncode

    def stop(self) -> int:
        assert self._process is not None
        self._process.send_signal(signal.SIGTERM)
        return self.wait()

    def kill(self) -> int:
        assert self._process is not None
        self._process.kill()
        return self.wait()

    def wait(self) -> int:
        assert self._process is not None
        assert self._reader is not None
        self.exit_code = self._process.wait()
        self._reader.join()
        if self._process.stdout is not None:
            self._process.stdout.close()
        return self.exit_code

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self._output.append(line)

    def _below_root(self, command: Sequence[str]) -> list[str]:
        if self._root is None:
            return list(command)
        return [f"{self._root}{word}" if word.startswith("/") else word for word in command]

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        assert self._process is not None
        if self._process.poll() is None:
            self.stop()
