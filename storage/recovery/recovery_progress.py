"""Logs the progress of the recovery of all logs every few seconds."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

logger = logging.getLogger(__name__)

_INTERVAL_MS = 5_000
_MIB = 1 << 20


class RecoveryProgress:
    """Thread-safe. `clock` returns ms. `is_given_up`: whether recovery should end early."""

    def __init__(
        self,
        log_count: int,
        total_bytes: int,
        clock: Callable[[], int],
        is_given_up: Callable[[], bool] = lambda: False,
    ) -> None:
        self.is_given_up = is_given_up
        self._log_count = log_count
        self._total_bytes = total_bytes
        self._clock = clock
        self._logs_done = 0
        self._read_bytes = 0
        self._started_ms = self._told_ms = clock()
        self._lock = threading.Lock()

    def read(self, size_bytes: int) -> None:
        with self._lock:
            self._read_bytes += size_bytes
            self._maybe_tell()

    def log_is_done(self) -> None:
        with self._lock:
            self._logs_done += 1
            self._maybe_tell()

    def share(self) -> float:
        """The part that is done, from 0 to 1: of the bytes, or of the logs when they have none to read."""
        with self._lock:
            done, total = (
                (self._read_bytes, self._total_bytes) if self._total_bytes else (self._logs_done, self._log_count)
            )
        return min(done / total, 1.0) if total else 1.0

    def finish(self) -> None:
        """Log the total, if anything was read."""
        if self._read_bytes:
            logger.info(
                "recovered %d logs, read %.1f MiB in %d ms",
                self._logs_done,
                self._read_bytes / _MIB,
                self._clock() - self._started_ms,
            )

    def _maybe_tell(self) -> None:
        now_ms = self._clock()
        if now_ms - self._told_ms >= _INTERVAL_MS:
            self._told_ms = now_ms
            logger.info(
                "recovering: %d of %d logs, %.0f of %.0f MiB",
                self._logs_done,
                self._log_count,
                self._read_bytes / _MIB,
                self._total_bytes / _MIB,
            )
