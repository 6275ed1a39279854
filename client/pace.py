"""Limits the rate of rows."""

from __future__ import annotations

import time
from collections.abc import Callable


class Pace:
    """Limits rows to `rate` a second since the first one; None means no limit. Seconds are those of `clock`."""

    def __init__(
        self,
        rate: float | None,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._rate = rate
        self._clock = clock
        self._sleep = sleep
        self._began: float | None = None
        self._rows = 0

    def wait_for(self, rows: int) -> None:
        """Waits until the rate allows `rows` more rows."""
        if self._rate is None:
            return
        if self._began is None:
            self._began = self._clock()
        due = self._began + self._rows / self._rate
        while (left := due - self._clock()) > 0:
            self._sleep(left)
        self._rows += rows
