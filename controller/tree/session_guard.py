"""The broker's side of the process that ends its session with ZooKeeper when the broker dies.

Kafka's brokers are missed when their session runs out, seconds after they died: until then nobody leads what they led.
The guard (`session_guard_process.py`) notices the death of the process at once. A machine that is lost takes the guard
along; then the session's time-out decides, as in Kafka. That the guard lives is watched by `guard_supervisor.py`.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from .session_guard_process import END
from .zookeeper_tls import TlsSettings

__all__ = ["SessionGuard"]

_PROGRAM = Path(__file__).with_name("session_guard_process.py")


class SessionGuard:
    """One session's. ``credentials``: its id and password. Made when the session begins; OSError: no process could be
    started."""

    def __init__(
        self,
        servers: Sequence[tuple[str, int]],
        credentials: tuple[int, bytes],
        session_timeout_ms: int,
        tls: TlsSettings | None,
    ) -> None:
        session_id, password = credentials
        order = {
            "servers": list(servers),
            "session_id": session_id,
            "password": password.hex(),
            "session_timeout_ms": session_timeout_ms,
            "tls": None if tls is None else asdict(tls),
            "import_path": sys.path,
        }
        # A session of its own, and no way to write anywhere but to the broker, which it does not: it may outlive those
        # who wait for the broker's output.
        self._process = subprocess.Popen(
            [sys.executable or "", "-I", "-S", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        self._tell(f"{os.getpid()}\n{json.dumps(order)}\n".encode())

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def life_line(self) -> int:
        """A descriptor that is readable when the guard has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    @property
    def end(self) -> str:
        """How a guard ended that was waited for."""
        status = self._process.returncode
        return f"by signal {-status}" if status < 0 else f"with status {status}"

    def let_go(self) -> None:
        """As the end of this process does: the guard ends the session."""
        self._tell(END)
        self._close_pipe()

    def dismiss(self) -> None:
        """The session ended otherwise, or the guard did: it does nothing any more, and leaves nothing. Blocks until it
        has ended; it is not asked, so that one that is stopped ends, too."""
        self._process.kill()
        self._close_pipe()
        self.wait()

    def wait(self) -> None:
        """Until it has ended. Blocks."""
        assert self._process.stdout is not None
        self._process.wait()
        self._process.stdout.close()

    def _close_pipe(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # what was not written is not wanted any more
            self._process.stdin.close()

    def _tell(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended, which its life line tells
            self._process.stdin.write(line)
            self._process.stdin.flush()
