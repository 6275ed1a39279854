"""Runs Kafka's tools in one JVM of this process, because the start of a JVM costs a second of a processor."""

import atexit
import struct
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from support.clients.foreign_clients import PROGRAMS
from support.processes.java import java_command
from support.processes.java_programs import java_compiler, java_program

__all__ = ["run_main"]

_NEED_THEIR_OWN = ("Console", "Jmx", "Verifiable")
"""Parts of the names of tools with shutdown hooks, which run only at the end of a JVM, and of the one that leaves its
connection open, which then complains among the errors of the next tool."""
_UTF_8 = ("-Dfile.encoding=UTF-8", "-Dstdout.encoding=UTF-8")
_MOST_FAILED = 5
"""Tools that may fail in a JVM: a failed tool leaves the client open that a process would take with it."""

_lock = threading.Lock()
_servers: dict[Path | None, "_ToolServer"] = {}
"""By the folder of the jars."""


def run_main(
    main_class: str, *arguments: str, stdin: str = "", libs: Path | None = None
) -> "subprocess.CompletedProcess[str]":
    """Runs a class of Kafka; returns its exit code and output (UTF-8). Without a Java compiler each tool gets its own
    JVM. `libs`: jars of another release than 3.9.1.
    """
    if stdin or any(part in main_class for part in _NEED_THEIR_OWN) or java_compiler() is None:
        command = java_command(main_class, *arguments, properties=_UTF_8, libs=libs)
        return subprocess.run(command, input=stdin, capture_output=True, encoding="utf-8", check=False)
    with _lock:
        if libs not in _servers:
            _servers[libs] = _ToolServer(libs)
        done = _servers[libs].run([main_class, *arguments])
        if _servers[libs].failed >= _MOST_FAILED:
            _servers.pop(libs).close()
    return done


class _ToolServer:
    """The JVM. `failed`: the number of tools that ended with another code than 0."""

    def __init__(self, libs: Path | None) -> None:
        command = java_program(PROGRAMS / "tools" / "ToolServer.java", libs)
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests: IO[bytes] = self._process.stdin
        self._responses: IO[bytes] = self._process.stdout
        self.failed = 0
        atexit.register(self.close)

    def run(self, words: Sequence[str]) -> "subprocess.CompletedProcess[str]":
        encoded = [word.encode() for word in words]
        parts = [struct.pack(">i", len(encoded)), *(struct.pack(">i", len(word)) + word for word in encoded)]
        self._requests.write(b"".join(parts))
        self._requests.flush()
        code = self._number()
        output, errors = (self._bytes(self._number()).decode() for _ in range(2))
        self.failed += code != 0
        return subprocess.CompletedProcess(words, code, output, errors)

    def _number(self) -> int:
        (number,) = struct.unpack(">i", self._bytes(4))
        assert isinstance(number, int)
        return number

    def _bytes(self, count: int) -> bytes:
        data = self._responses.read(count)
        assert len(data) == count, "the JVM of Kafka's tools ended"
        return data

    def close(self) -> None:
        """Ends the JVM."""
        atexit.unregister(self.close)
        self._requests.close()
        self._process.wait()
        self._responses.close()
