"""Restarts the session guard when its process ends.

The guard is restarted at once. If it keeps ending soon, for example because the system kills every new process, a pause
comes first, which doubles up to a minute. A session without a guard times out, as in Kafka.
"""

import asyncio
import logging
from collections.abc import Callable

from .session_guard import SessionGuard

__all__ = ["GuardSupervisor"]

logger = logging.getLogger(__name__)

LASTING_S = 60.0
"""After a guard that lived this long the next one is started without a pause."""
PAUSE_S = 1.0
"""The pause before the second restart in a row; it doubles for each restart after that."""
LONGEST_PAUSE_S = 64.0


class GuardSupervisor:
    """``start_guard`` raises OSError when no process can be started. Belongs to the running loop."""

    def __init__(self, start_guard: Callable[[], SessionGuard]) -> None:
        self._start_guard = start_guard
        self._loop = asyncio.get_running_loop()
        self._guard: SessionGuard | None = None
        self._started_s = 0.0
        self._restarts_in_a_row = 0
        self._was_longest = False
        self._restart: asyncio.TimerHandle | None = None
        self._start()

    @property
    def guard(self) -> SessionGuard | None:
        """None between two guards."""
        return self._guard

    def release(self) -> SessionGuard | None:
        """Stop supervising; returns the current guard, which the caller must end."""
        if self._restart is not None:
            self._restart.cancel()
        guard, self._guard = self._guard, None
        if guard is not None:
            self._loop.remove_reader(guard.exit_descriptor)
        return guard

    def _start(self) -> None:
        try:
            self._guard = self._start_guard()
        except OSError as error:
            self._plan_restart(f"no process could be started: {error}")
            return
        self._started_s = self._loop.time()
        self._loop.add_reader(self._guard.exit_descriptor, self._on_end)

    def _on_end(self) -> None:
        guard = self.release()
        assert guard is not None
        guard.kill()  # the guard closed its stdout, so it has nearly always ended
        if self._loop.time() - self._started_s >= LASTING_S:
            self._restarts_in_a_row = 0
            self._was_longest = False
        self._plan_restart(f"process {guard.pid} has ended {guard.exit_status}")

    def _plan_restart(self, why: str) -> None:
        self._restarts_in_a_row += 1
        doublings = self._restarts_in_a_row - 2
        pause_s = 0.0 if doublings < 0 else min(PAUSE_S * 2**doublings, LONGEST_PAUSE_S)
        if not self._was_longest:
            logger.warning("the session has no guard, the next one starts in %.0f s: %s", pause_s, why)
        self._was_longest = pause_s == LONGEST_PAUSE_S  # from then on there is no warning
        self._restart = self._loop.call_later(pause_s, self._start)
