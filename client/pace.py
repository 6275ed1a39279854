"""Limits the rate of rows."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext

_MOST_S = 1.0
"""A longer pause is made in parts, so that its caller can do other work between them."""


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

    def wait_for(self, rows: int, waiting: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        """Waits until the rate allows `rows` more rows. Each part of the pause is made in a context of ``waiting``."""
        if self._rate is None:
            return
        if self._began is None:
            self._began = self._clock()
        due = self._began + self._rows / self._rate
        while True:
            with waiting():
                left = due - self._clock()
                if left <= 0:
                    break
                self._sleep(min(left, _MOST_S))
        self._rows += rows
