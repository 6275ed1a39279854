"""The broker's side of the session guard, a process that ends the ZooKeeper session at once when the broker dies.

**Why.** Kafka's controller notices a dead broker when its session times out; for those seconds its partitions have no
leader. **Limits.** If the whole machine is lost, the session times out, as in Kafka.

The process is `session_guard_process.py`; `guard_supervisor.py` restarts it when it ends.
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
    """The guard of one session. ``credentials``: the session's id and password.

    Raises OSError when no process can be started.
    """

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
        # It may outlive the readers of the broker's output, so it gets its own session and no terminal to write to.
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
    def exit_descriptor(self) -> int:
        """A file descriptor that becomes readable when the guard has ended."""
        assert self._process.stdout is not None
        return self._process.stdout.fileno()

    @property
    def exit_status(self) -> str:
        """How the guard ended, in words; after `wait` or `kill`."""
        status = self._process.returncode
        return f"by signal {-status}" if status < 0 else f"with status {status}"

    def end_session(self) -> None:
        """Have the guard end the session, as it does when this process dies."""
        self._tell(END)
        self._close_pipe()

    def kill(self) -> None:
        """Kill the guard, also when it is stopped, and wait for its end. The session stays. Blocks."""
        self._process.kill()
        self._close_pipe()
        self.wait()

    def wait(self) -> None:
        """Wait until the guard has ended. Blocks."""
        assert self._process.stdout is not None
        self._process.wait()
        self._process.stdout.close()

    def _close_pipe(self) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # unwritten bytes are not needed any more
            self._process.stdin.close()

    def _tell(self, line: bytes) -> None:
        assert self._process.stdin is not None
        with suppress(OSError):  # the process has ended, as its exit descriptor shows
            self._process.stdin.write(line)
            self._process.stdin.flush()
