"""Periodic work on all logs: retention, expiry of producers, flushes. `StoreSchedule` calls it."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial

from ...base.log_buckets import LogBuckets
from ...base.topic_partition import TopicPartition
from ...protocol.errors import KafkaError
from ..files.files import Files, is_out_of_descriptors
from ..log.flush_plan import FlushPlan
from ..log.log import Log
from ..log.log_retention import apply_retention
from ..workers.worker_pool import Pool
from .log_directories import LogDirectories
from .log_table import LogTable

logger = logging.getLogger(__name__)

_MAX_PLANS = 8
"""Most flush plans in progress over all logs. Each keeps its files open, within the spare part of the descriptor
limit."""


class LogUpkeep:
    """Runs on the event loop; changes of a log go through its strand. `clock` returns ms since 1970.

    Logs without work are skipped, because a broker may have thousands of idle logs.
    """

    def __init__(
        self,
        files: Files,
        pool: Pool,
        clock: Callable[[], int],
        table: LogTable,
        directories: LogDirectories,
        stopwatch_s: Callable[[], float],
    ) -> None:
        self._files = files
        self._pool = pool
        self._clock = clock
        self._table = table
        self._directories = directories
        self._stopwatch_s = stopwatch_s
        self.is_compacting: Callable[[TopicPartition], bool] = lambda tp: False
        """Set with the cleaner. Retention skips logs that are being compacted."""
        self.in_background: Callable[[Callable[[], None]], None] | None = None
        """Set by the schedule: runs a blocking step on the background pool. Without it a roll flushes nothing."""
        self._to_flush: dict[Log, bool] = {}  # value: with the active segment
        self._flushing: set[Log] = set()
        self.flush_times = LogBuckets()
        """How long each flush in the background took, in seconds."""

    def apply_retention(self, high_watermark_of: Callable[[Log], int]) -> None:
        """Make each log delete the segments beyond its retention. `high_watermark_of` is called at once."""
        for strand in self._table.all_strands():
            log = strand.log
            if log.view.is_empty or self.is_compacting(log.topic_partition):
                continue
            step = _retention_step(self._clock(), high_watermark_of(log))
            strand.submit(step, _log_failure(log.topic_partition, "retention"))

    def remove_expired_producers(self) -> None:
        now_ms = self._clock()
        for strand in self._table.all_strands():
            if strand.log.producer_state.has_any_to_expire:
                failed = _log_failure(strand.log.topic_partition, "producer expiry")
                strand.submit(lambda log: log.remove_expired_producers(now_ms), failed)

    def flush_due_logs(self) -> None:
        """Sync in the background the logs that are due by `flush.ms`."""
        now_ms = self._clock()
        for log in self._table.all_logs():
            if log.unflushed_messages > 0 and now_ms - log.last_flush_ms >= log.config.flush_ms:
                self.flush_in_background(log)

    def flush_closed_segments(self, tp: TopicPartition) -> None:
        """Sync in the background the closed segments of a log."""
        log = self._table.get(tp)
        if log is not None:
            self.flush_in_background(log, with_active=False)

    def flush_in_background(self, log: Log, *, with_active: bool = True) -> None:
        """Sync a log while it takes appends: only the plan and the new recovery point go through the strand.

        Each log has one plan at a time, and there are few plans in all, because plans keep files open, and segments may
        be closed faster than the disk syncs them. Other requests wait until a plan is done.
        """
        self._to_flush[log] = self._to_flush.get(log, False) or with_active
        self._begin_flushes()

    def _begin_flushes(self) -> None:
        while len(self._flushing) < _MAX_PLANS:
            log = next((log for log in self._to_flush if log not in self._flushing), None)
            if log is None:
                return
            self._begin_flush(log, with_active=self._to_flush.pop(log))

    def _begin_flush(self, log: Log, *, with_active: bool) -> None:
        strand = self._table.strand(log.topic_partition)
        run = self.in_background
        directory = self._table.directory_of(log.topic_partition)  # remembered, because the log may move meanwhile
        if strand is None or strand.log is not log or run is None:
            return

        def failed(plan: FlushPlan, error: OSError) -> None:
            if is_out_of_descriptors(error):
                logger.warning("%s: not synced, will be retried: %s", log.topic_partition, error)
            elif directory is not None and not log.is_offline and plan.truncation_count == log.truncation_count:
                self._directories.failed(directory, f"{log.topic_partition}: cannot sync", error)

        def sync(plan: FlushPlan) -> bool:
            if log.is_offline:
                return False
            began_s = self._stopwatch_s()
            try:
                plan.run(self._files)
            except FileNotFoundError as error:
                # A deletion or a move may just be renaming the directory: decide after it, on the strand.
                step = partial(_ignoring_log, partial(failed, plan, error))
                self._pool.post(strand.submit, step)
                return False
            except OSError as error:
                failed(plan, error)
                return False
            self._pool.post(self.flush_times.add, self._stopwatch_s() - began_s)
            now_ms = self._clock()
            self._pool.post(strand.submit, lambda log: log.mark_flushed(plan, now_ms))
            return True

        def sync_and_go_on(plan: FlushPlan) -> None:
            is_more_left = False
            try:
                is_more_left = sync(plan) and plan.is_partial
            finally:
                self._pool.post(self._flush_ended, log, is_more_left)

        def planned(plan: object) -> None:
            if isinstance(plan, FlushPlan):
                run(lambda: sync_and_go_on(plan))
            else:
                self._flush_ended(log)

        self._flushing.add(log)
        strand.submit(lambda log: log.plan_flush(with_active=with_active), planned)

    def _flush_ended(self, log: Log, is_more_left: bool = False) -> None:
        """Start the next flushes. Posted after the step that moves the recovery point."""
        self._flushing.remove(log)
        if is_more_left:
            self._to_flush.setdefault(log, False)
        self._begin_flushes()


def _ignoring_log(step: Callable[[], None], log: Log) -> None:
    step()


def _retention_step(now_ms: int, high_watermark: int) -> Callable[[Log], list[int]]:
    return lambda log: apply_retention(log, now_ms, high_watermark)


def _log_failure(tp: TopicPartition, what: str) -> Callable[[object], None]:
    def done(result: object) -> None:
        if isinstance(result, KafkaError):
            logger.warning("%s: %s failed: %s", tp, what, result)

    return done
