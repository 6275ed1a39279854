"""The timers of the store: a thin asyncio shell that calls the plain methods of `LogStore`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from ...base.futures import set_done
from ...base.timers import Scheduler, TimerHandle
from ..log.log import Log
from ..workers.worker_pool import ClosablePool, Pool
from .log_store import LogStore

if TYPE_CHECKING:
    from ..compaction.cleaner_child import CompactionWorker


class StoreSchedule:
    """Runs retention, flushes, checkpoints, delayed deletions, producer expiry and compaction, on the event loop.

    `background` is a small pool for blocking steps, separate from other pools so that a slow fsync delays no fetch.
    `high_watermark_of` returns the offset that bounds retention. `start_movers` starts the threads that copy logs to
    other directories, when the first move begins; they are separate because syncs may occupy the background for long.
    `timers` delay deletions; default: the loop's.
    """

    def __init__(
        self,
        store: LogStore,
        loop: asyncio.AbstractEventLoop,
        background: Pool,
        high_watermark_of: Callable[[Log], int],
        start_movers: Callable[[], ClosablePool],
        start_compaction: Callable[[], CompactionWorker] | None = None,
        timers: Scheduler | None = None,
    ) -> None:
        self._store = store
        self._loop = loop
        self._delays: Scheduler = timers or loop
        self._background = background
        self._high_watermark_of = high_watermark_of
        self._start_movers = start_movers
        self._start_compaction = start_compaction
        self._movers: ClosablePool | None = None
        self._timers: dict[str, asyncio.TimerHandle] = {}
        self._delayed: set[TimerHandle] = set()
        self._deleting: set[asyncio.Future[None]] = set()
        self._stopped = False

    def start(self) -> None:
        config, store = self._store.config, self._store
        store.deletion.run_later = self._run_later
        store.upkeep.in_background = self._background.submit
        store.moves.start(self)
        blocking = self._background.submit
        blocking(store.deletion.delete_leftovers)
        initial_ms = config.int("log.initial.task.delay.ms")
        for name, interval_ms, step in (
            ("retention", config.int("log.retention.check.interval.ms"), self._apply_retention),
            ("flush", config.int("log.flush.scheduler.interval.ms"), store.upkeep.flush_due_logs),
            (
                "recovery points",
                config.int("log.flush.offset.checkpoint.interval.ms"),
                lambda: blocking(store.checkpoints.write_recovery_points),
            ),
            (
                "log starts",
                config.int("log.flush.start.offset.checkpoint.interval.ms"),
                lambda: blocking(store.checkpoints.write_log_starts),
            ),
            (
                "producer expiry",
                config.int("producer.id.expiration.check.interval.ms"),
                store.upkeep.remove_expired_producers,
            ),
        ):
            if interval_ms < _NEVER_MS:
                self._repeat(name, initial_ms, max(interval_ms, 1), step)
        if config.boolean("log.cleaner.enable") and config.int("log.cleaner.threads"):
            store.start_cleaner(blocking, self._loop.call_later, self._high_watermark_of, self._start_compaction)

    def stop(self) -> None:
        """Start nothing more. Files with a pending deletion are deleted at the next start."""
        self._stopped = True
        self._store.stop_cleaner()
        for timer in (*self._timers.values(), *self._delayed):
            timer.cancel()
        self._timers.clear()
        self._delayed.clear()
        self._store.deletion.run_later = _drop
        self._store.upkeep.in_background = None
        self._store.moves.stop()
        if self._movers is not None:
            self._movers.kill()

    # --- where moves between log directories run ----------------------------------------------------------------

    def submit(self, step: Callable[[], None]) -> None:
        """Run `step` on a thread for moves (`MoveRunner`)."""
        if self._stopped:
            return
        if self._movers is None:
            self._movers = self._start_movers()
        self._movers.submit(step)

    def later(self, delay_ms: int, callback: Callable[[], None]) -> None:
        """Run `callback` on the event loop in `delay_ms` (`MoveRunner`)."""

        def run() -> None:
            self._delayed.discard(timer)
            if not self._stopped:
                callback()

        timer = self._delays.call_later(delay_ms / 1000, run)
        self._delayed.add(timer)

    # --- rounds that need not wait for their timers ----------------------------------------------------------------

    async def do_due_work(self) -> None:
        """Run a round of retention, of producer expiry and of compaction; return when they are done."""
        self._apply_retention()
        self._store.upkeep.remove_expired_producers()
        await self._steps_done()
        await self._clean_now()

    async def compact_now(self, forces: Callable[[Log], bool]) -> None:
        """Compact the logs that `forces` names, up to their last stable offset; return when it is done. Their active
        segments are rolled before, because an active segment is never compacted."""
        now_ms = self._store.clock_ms()
        for strand in self._store.all_strands():
            log = strand.log
            if log.config.compact and not log.is_offline and log.segments[-1].size_bytes and forces(log):
                strand.submit(lambda log: log.roll(now_ms))
        await self._steps_done()
        await self._clean_now(forces)

    async def _clean_now(self, forces: Callable[[Log], bool] | None = None) -> None:
        cleaner = self._store.cleaner
        if cleaner is not None and not self._stopped:
            rested = self._loop.create_future()
            cleaner.clean_now(partial(set_done, rested), forces)
            await rested

    async def deletions_done(self) -> None:
        """Wait until the files are deleted whose delay is over."""
        if self._deleting:
            await asyncio.wait(self._deleting)

    async def _steps_done(self) -> None:
        """Wait until every step is done that is queued on a log now."""
        waiting = []
        for strand in self._store.all_strands():
            if not strand.is_idle:
                done = self._loop.create_future()
                waiting.append(done)
                strand.submit(_do_nothing, partial(set_done, done))
        if waiting:
            await asyncio.wait(waiting)

    # --- timers ---------------------------------------------------------------------------------------------------

    def _repeat(self, name: str, delay_ms: int, interval_ms: int, step: Callable[[], None]) -> None:
        def run() -> None:
            self._repeat(name, interval_ms, interval_ms, step)
            step()

        if not self._stopped:
            self._timers[name] = self._loop.call_later(delay_ms / 1000, run)

    def _apply_retention(self) -> None:
        self._store.upkeep.apply_retention(self._high_watermark_of)

    def _run_later(self, delay_ms: int, step: Callable[[], None]) -> None:
        """Run `step` in the background in `delay_ms`. From any thread."""
        self._background.post(self._start_timer, delay_ms, step)

    def _start_timer(self, delay_ms: int, step: Callable[[], None]) -> None:
        self.later(delay_ms, lambda: self._delete(step))

    def _delete(self, step: Callable[[], None]) -> None:
        done = self._loop.create_future()
        self._deleting.add(done)
        done.add_done_callback(self._deleting.discard)

        def run() -> None:
            try:
                step()
            finally:
                self._background.post(set_done, done)

        self._background.submit(run)


_NEVER_MS = 1 << 50


def _do_nothing(log: Log) -> None:
    """The step of a log that only shows when those before it are done."""


def _drop(delay_ms: int, step: Callable[[], None]) -> None:
    """Replaces `_run_later` after the stop: the files stay for the next start to delete."""
