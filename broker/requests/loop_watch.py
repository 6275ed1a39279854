"""How busy the event loop and the worker threads were lately, and how long the loop did not turn.

How: a timer comes late by as long as the loop was held up. It comes every two milliseconds while the loop works for
more than a tenth of the time, else ten times a second. **Limits.** The time shown is up to two milliseconds shorter
than the stall. A short stall of a loop that is idle otherwise is seen only by chance. The shares are those of the last
half minute.
"""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from ...storage.workers.worker_pool import ClosablePool, WorkerPool

__all__ = ["LoopWatch", "PoolUse", "use_of"]

_INTERVAL_S = 0.1
_INTERVAL_AT_WORK_S = 0.002
_NOTE_AFTER_S = 0.09
_AT_WORK = 0.1
_LOOKS = 300


class PoolUse(NamedTuple):
    """``waiting``: steps that wait for a thread."""

    busy_threads: int
    threads: int
    waiting: int


def use_of(pool: ClosablePool) -> PoolUse:
    """The use of a pool now. A pool without threads, as of a simulation, is idle."""
    if isinstance(pool, WorkerPool):
        return PoolUse(pool.busy_count, pool.thread_count, pool.waiting_count)
    return PoolUse(0, 1, 0)


class _Look(NamedTuple):
    now_s: float
    cpu_s: float
    pool_idle: float
    """The sum of the idle shares at all looks so far."""


class LoopWatch:
    """``pool``: the use of the worker threads now. ``each_time`` is called at each look, on the loop."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        pool: Callable[[], PoolUse],
        each_time: Callable[[], None],
        now_s: Callable[[], float] = time.perf_counter,
        cpu_s: Callable[[], float] = time.thread_time,
    ) -> None:
        self._loop = loop
        self._pool = pool
        self._each_time = each_time
        self._now_s = now_s
        self._cpu_s = cpu_s
        self._looks: deque[_Look] = deque(maxlen=_LOOKS)
        self._due_s = 0.0
        self._is_at_work = False
        self._longest_stall_s = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def start(self) -> None:
        """Look from now on."""
        self._due_s = self._now_s()
        self._look()

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _look(self) -> None:
        now_s = self._now_s()
        stall_s = now_s - self._due_s
        if stall_s > self._longest_stall_s:
            self._longest_stall_s = stall_s
        if not self._looks or now_s - self._looks[-1].now_s >= _NOTE_AFTER_S:
            self._note(now_s)
        wait_s = _INTERVAL_AT_WORK_S if self._is_at_work else _INTERVAL_S
        self._due_s = now_s + wait_s
        self._timer = self._loop.call_later(wait_s, self._look)

    def _note(self, now_s: float) -> None:
        cpu_s, use = self._cpu_s(), self._pool()
        before = self._looks[-1] if self._looks else _Look(now_s, cpu_s, 0.0)
        self._is_at_work = cpu_s - before.cpu_s > _AT_WORK * (now_s - before.now_s)
        idle = 1 - use.busy_threads / max(use.threads, 1)
        self._looks.append(_Look(now_s, cpu_s, before.pool_idle + idle))
        self._each_time()

    @property
    def loop_idle(self) -> float:
        """The share of time, 0 to 1, in which the loop's thread did not run."""
        first, last = (self._looks[0], self._looks[-1]) if self._looks else (None, None)
        if first is None or last is None or last.now_s <= first.now_s:
            return 1.0
        return min(max(1 - (last.cpu_s - first.cpu_s) / (last.now_s - first.now_s), 0.0), 1.0)

    @property
    def pool_idle(self) -> float:
        """The mean share of idle worker threads, 0 to 1."""
        if len(self._looks) < 2:
            return 1.0
        return (self._looks[-1].pool_idle - self._looks[0].pool_idle) / (len(self._looks) - 1)

    def take_longest_stall_s(self) -> float:
        """The longest time by which a look came late since the last call."""
        stall_s, self._longest_stall_s = max(self._longest_stall_s, self._now_s() - self._due_s), 0.0
        return max(stall_s, 0.0)
