"""The broker's side of the process that ends its session with ZooKeeper when the broker dies.

Kafka's brokers are missed when their session runs out, seconds after they died: until then nobody leads what they led.
The guard (`session_guard_process.py`) notices the death of the process at once. A machine that is lost takes the guard
along; then the session's time-out decides, as in Kafka.
"""

import json
import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from .session_guard_process import END, STOP
from .zookeeper_tls import TlsSettings

__all__ = ["SessionGuard"]

logger = logging.getLogger(__name__)

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
        # A session of its own, and no way to write anywhere: it may outlive those who wait for the broker's output.
        self._process = subprocess.Popen(
            [sys.executable or "", "-I", "-S", str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
        self._tell(f"{os.getpid()}\n{json.dumps(order)}\n".encode())

    @property
    def pid(self) -> int:
        return self._process.pid

    def stop(self) -> None:
        """The session ended otherwise: the guard ends and does nothing."""
        self._say_last(STOP)

    def let_go(self) -> None:
        """As the end of this process does: the guard ends the session."""
        self._say_last(END)

    def _say_last(self, word: bytes) -> None:
        self._tell(word)
        assert self._process.stdin is not None
        with suppress(OSError):  # what was not written is not wanted any more
            self._process.stdin.close()

    def wait(self) -> None:
        """Until it has ended. Blocks."""
        self._process.wait()

    def _tell(self, line: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError as error:
            logger.warning("the session's guard has ended: if this broker dies, its session must time out: %s", error)
