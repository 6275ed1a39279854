"""All that watches requests: their times, the slow ones, the request log, and how busy the broker is.

It exists only if the broker serves HTTP, because what it finds is read there.
"""

import asyncio
from collections.abc import Callable

from ...config.config import Config
from .loop_watch import LoopWatch, PoolUse
from .request_log import RequestLog
from .request_times import RequestTimes
from .slow_requests import SlowRequests

__all__ = ["RequestWatch"]


class RequestWatch:
    """``times`` is the `RequestTimer` of the listeners. ``pool`` tells the use of the worker threads."""

    def __init__(
        self,
        config: Config,
        loop: asyncio.AbstractEventLoop,
        clock_ms: Callable[[], int],
        pool: Callable[[], PoolUse],
    ) -> None:
        self.pool = pool
        self.times = RequestTimes()
        threshold_ms = config.int("pybroker.slow.request.ms")
        self.slow = SlowRequests(threshold_ms, clock_ms)
        self.times.watch_slow(threshold_ms, self.slow.note)
        self._log = RequestLog(config.list("pybroker.request.log.clients"), config.int("pybroker.request.log.sample"))
        self.loop = LoopWatch(loop, pool, self._follow_log_level)

    def _follow_log_level(self) -> None:
        """The level of the request log may have changed."""
        self.times.watch_all(self._log.note if self._log.is_on else None)
