"""The post beside a session at which one guard relieves another: guards die, too, and nobody else would notice.

A guard is relieved at once. When it did not last, as where the system kills whatever is started, the next comes after a
pause, longer each time up to a minute. A session without guard times out, as in Kafka.
"""

import asyncio
import logging
from collections.abc import Callable

from .session_guard import SessionGuard

__all__ = ["GuardPost"]

logger = logging.getLogger(__name__)

LASTING_S = 60.0
"""Who was on guard for so long did not die because guards cannot live here."""
PAUSE_S = 1.0
"""Before the second relief in a row; twice as long before each one after it."""
LONGEST_PAUSE_S = 64.0


class GuardPost:
    """``send`` starts a guard; OSError: no process could be started. Belongs to the loop that runs now."""

    def __init__(self, send: Callable[[], SessionGuard]) -> None:
        self._send = send
        self._loop = asyncio.get_running_loop()
        self._guard: SessionGuard | None = None
        self._since = 0.0
        self._in_a_row = 0
        self._was_longest = False
        self._relief: asyncio.TimerHandle | None = None
        self._man()

    @property
    def guard(self) -> SessionGuard | None:
        """None: just now there is none."""
        return self._guard

    def leave(self) -> SessionGuard | None:
        """No guard is relieved any more. The one that is there is the caller's, to be told what to do."""
        if self._relief is not None:
            self._relief.cancel()
        guard, self._guard = self._guard, None
        if guard is not None:
            self._loop.remove_reader(guard.life_line)
        return guard

    def _man(self) -> None:
        try:
            self._guard = self._send()
        except OSError as error:
            self._relieve(f"no process could be started: {error}")
            return
        self._since = self._loop.time()
        self._loop.add_reader(self._guard.life_line, self._on_end)

    def _on_end(self) -> None:
        guard = self.leave()
        assert guard is not None
        guard.dismiss()  # nearly always it is dead; if not, it would never be heard of again
        if self._loop.time() - self._since >= LASTING_S:
            self._in_a_row = 0
            self._was_longest = False
        self._relieve(f"process {guard.pid} has ended {guard.end}")

    def _relieve(self, why: str) -> None:
        self._in_a_row += 1
        pause_s = 0.0 if self._in_a_row == 1 else min(PAUSE_S * 2 ** (self._in_a_row - 2), LONGEST_PAUSE_S)
        if not self._was_longest:
            logger.warning("the session has no guard, another one comes in %.0f s: %s", pause_s, why)
        self._was_longest = pause_s == LONGEST_PAUSE_S  # and from then on it is said no more
        self._relief = self._loop.call_later(pause_s, self._man)
