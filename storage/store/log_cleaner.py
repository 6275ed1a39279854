"""The log cleaner: chooses the log to compact, has it compacted, swaps the result in (Kafka's LogCleaner).

How: every `log.cleaner.backoff.ms`, and at once while a log is due, it examines the logs with `cleanup.policy=compact`.
A `CompactionWorker` does the work, in the broker a child process that exists only while there is work. The result is
swapped in on the log's strand, unless the log was deleted, moved or truncated meanwhile.
Everything here runs on the event loop, except submitted steps.
"""

from __future__ import annotations

import errno as errno_codes
import logging
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from ...base.timers import CallLater, TimerHandle
from ...base.topic_partition import TopicPartition
from ...config.config import Config
from ...protocol.errors import KafkaError
from ..compaction.compaction_choice import Candidate, DirtySegment, assess, dirtiest_last
from ..compaction.compaction_swap import discard, finish, swap_in
from ..errors import NoSpaceError
from ..files.files import is_transient
from ..log.log import Log
from ..log.strand import Strand
from .store_parts import StoreParts

if TYPE_CHECKING:  # imported only when there is something to compact
    from ..compaction.cleaner_child import CompactionWorker
    from ..compaction.compaction_job import CompactionDone, CompactionReport, CompactionSettings
    from ..compaction.compaction_plan import CompactionPlan

logger = logging.getLogger(__name__)

_CRASHES_TO_GIVE_UP = 3
_UNBOUNDED_MS = 1 << 62
_MIN_IDLE_TO_LOOK = 9
"""The pause between two examinations of all logs, in durations of the last one. There may be thousands of logs."""


class LogCleaner:
    """The cleaner. `start` makes it examine the logs after a backoff; `stop` cancels running compactions.

    `in_background` runs a blocking step; `call_later` takes seconds.
    """

    def __init__(
        self,
        config: Callable[[], Config],
        parts: StoreParts,
        *,
        in_background: Callable[[Callable[[], None]], None],
        call_later: CallLater,
        high_watermark_of: Callable[[Log], int],
        start_worker: Callable[[], CompactionWorker] | None = None,
    ) -> None:
        self._config = config
        self._pool, self._clock, self._table, self._directories, self._checkpoints = parts
        self._in_background = in_background
        self._call_later = call_later
        self._high_watermark_of = high_watermark_of
        self._start_worker = start_worker if start_worker is not None else _start_child
        self._timer: TimerHandle | None = None
        self._is_looking = False
        self._looked_ms = 0
        self._look_took_ms = 0
        self._due: list[TopicPartition] = []
        """The due logs found by the last examination of all logs, the dirtiest last."""
        self._is_stopped = False
        self._idle_workers: list[CompactionWorker] = []
        self._runs: dict[TopicPartition, _Run] = {}
        self._put_off: set[TopicPartition] = set()
        """Logs whose compaction was cancelled. They wait for a backoff."""
        self._looks_again = False
        """Another examination was asked for while one, or a compaction, was under way."""
        self._on_rest: list[Callable[[], None]] = []
        self._forces: Callable[[Log], bool] | None = None
        self._crashes: dict[TopicPartition, int] = {}
        self._uncleanable: dict[TopicPartition, Log] = {}
        self.last_run_ms = self._clock()
        """When the logs were last looked at."""
        self.max_dirty_percent = 0
        """The dirty share of the dirtiest log that the last examination found, in percent."""
        self.last_compaction_ms = 0
        """The duration of the last compaction."""

    # --- state ---------------------------------------------------------------------------------------------------

    @property
    def uncleanable(self) -> list[TopicPartition]:
        """The logs that are not compacted any more until a restart."""
        self._forget_what_is_gone()
        return list(self._uncleanable)

    def is_compacting(self, tp: TopicPartition) -> bool:
        return tp in self._runs

    # --- lifecycle -------------------------------------------------------------------------------------------------

    def start(self) -> None:
        self._look_later()

    def stop(self) -> None:
        """Cancel running compactions and end the child processes. The next start or compaction deletes leftovers."""
        self._is_stopped = True
        if self._timer is not None:
            self._timer.cancel()
        for run in self._runs.values():
            run.worker.stop()
        self._runs.clear()
        self._end_idle_workers()
        self._tell_rest()

    def settings_changed(self) -> None:
        """Apply changed settings (`log.cleaner.*`, topic defaults), beginning with the backoff."""
        if self._timer is not None:
            self._look_later()

    def abort(self, tp: TopicPartition) -> None:
        """Cancel the compaction of a log that is being deleted, moved or truncated."""
        run = self._runs.get(tp)
        if run is not None and not run.is_over:
            logger.info("%s: its compaction is cancelled, because the log has changed", tp)
            self._break_off(run)

    def clean_now(self, rested: Callable[[], None], forces: Callable[[Log], bool] | None = None) -> None:
        """Examine all logs now and compact those that are due. `rested` is called when none is due any more, or when
        the cleaner stops. Until then, logs that `forces` names are due whatever their share of dirty bytes and the age
        of their records."""
        self._on_rest.append(rested)
        self._forces = forces or self._forces
        self._looks_again = True
        if self._is_stopped:
            self._tell_rest()
        elif not self._is_looking and not self._runs:
            self._look_again()

    def _look_again(self) -> None:
        self._looks_again = False
        self._look_took_ms = 0  # no pause since the last examination
        self._look_after_backoff()

    def _tell_rest(self) -> None:
        on_rest, self._on_rest, self._forces = self._on_rest, [], None
        for rested in on_rest:
            rested()

    def _look_later(self) -> None:
        if not self._runs and not self._is_looking:
            if self._looks_again and not self._is_stopped:
                self._look_again()
                return
            self._tell_rest()
        if self._timer is not None:
            self._timer.cancel()
        delay_ms = self._config().int("log.cleaner.backoff.ms")
        if not self._is_stopped and delay_ms < _UNBOUNDED_MS:
            self._timer = self._call_later(max(delay_ms, 1) / 1000, self._look_after_backoff)

    def _look_after_backoff(self) -> None:
        self._put_off.clear()
        self.look()

    # --- choosing -----------------------------------------------------------------------------------------------

    def look(self) -> None:
        """Begin to compact the dirtiest log, if one is due and a thread (`log.cleaner.threads`) is free."""
        if self._is_stopped or self._is_looking:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if len(self._runs) >= self._config().int("log.cleaner.threads"):
            return  # the end of a compaction calls `look` again
        self.last_run_ms = now_ms = self._clock()
        age_ms, pause_ms = now_ms - self._looked_ms, self._look_took_ms * _MIN_IDLE_TO_LOOK
        if not 0 <= age_ms < pause_ms:
            self._look_at_all(now_ms)
        elif (log := self._next_due()) is not None:
            self._is_looking = True
            self._in_background(partial(self._choose, [(log, self._high_watermark_of(log))], self._looked_at_one))
        else:
            self._timer = self._call_later((pause_ms - age_ms) / 1000, self.look)

    def _look_at_all(self, now_ms: int) -> None:
        found = [
            (log, self._high_watermark_of(log))
            for log in self._table.all_logs()
            if log.config.compact and len(log.segments) > 1 and self._may_compact(log)
        ]
        if not found:
            self._rest()
            return
        self._is_looking = True
        self._in_background(partial(self._choose, found, partial(self._looked_at_all, now_ms)))

    def _looked_at_all(self, began_ms: int, due: list[Candidate]) -> None:
        self._looked_ms = self._clock()
        # A clock that was moved meanwhile must not make the next pause long.
        self._look_took_ms = 0 if self._looks_again else max(self._looked_ms - began_ms, 0)
        self._due = [candidate.topic_partition for candidate in due[:-1]]
        self._is_looking = False
        if due:
            self._compact(due[-1])
        else:
            self._rest()

    def _looked_at_one(self, due: list[Candidate]) -> None:
        self._is_looking = False
        if due:
            self._compact(due[0])
        else:  # no longer due: try the next log
            self.look()

    def _next_due(self) -> Log | None:
        while self._due:
            log = self._table.get(self._due.pop())
            if log is not None and self._may_compact(log):
                return log
        return None

    def _may_compact(self, log: Log) -> bool:
        tp = log.topic_partition
        # a log that is being copied must not change; it is compacted after the move
        if self._table.move(tp) is not None:
            return False
        is_waiting = tp in self._runs or tp in self._put_off
        return not is_waiting and not log.is_offline and self._uncleanable.get(tp) is not log

    def _choose(self, found: Sequence[tuple[Log, int]], looked: Callable[[list[Candidate]], None]) -> None:
        """Find the due logs, in the background, because timestamps are read from files. `looked` gets the result."""
        now_ms = self._clock()
        candidates: list[Candidate] = []
        due: list[Candidate] = []
        try:
            for log, high_watermark in found:
                try:
                    candidates.append(self._assess(log, high_watermark, now_ms))
                except (OSError, IndexError, KafkaError) as error:  # the log was just deleted, or its directory failed
                    logger.warning("%s: cannot be examined for compaction: %s", log.topic_partition, error)
                    if isinstance(error, OSError):
                        self._maybe_lose_directory(log, str(error), error)
            due = dirtiest_last(candidates)
            self.max_dirty_percent = int(100 * max((candidate.ratio for candidate in candidates), default=0.0))
        finally:
            self._pool.post(looked, due)

    def _assess(self, log: Log, high_watermark: int, now_ms: int) -> Candidate:
        view, config, tp, forces = log.view, log.config, log.topic_partition, self._forces
        if forces is not None and forces(log):
            config = replace(config, min_cleanable_dirty_ratio=-1.0, min_compaction_lag_ms=0)
        with_first = config.max_compaction_lag_ms < now_ms
        with_largest = config.min_compaction_lag_ms > 0
        facts = [
            DirtySegment(
                segment.base_offset,
                segment.size_bytes,
                segment.first_timestamp if with_first else -1,
                segment.largest_timestamp() if with_largest else -1,
            )
            for segment in view.segments
        ]
        candidate, is_reset = assess(
            tp,
            config,
            facts,
            self._checkpoints.compacted_up_to(tp),
            view.log_start_offset,
            view.log_end_offset,
            view.last_stable_offset(high_watermark),
            now_ms,
        )
        if is_reset:
            if not config.delete:
                logger.warning(
                    "%s: its compaction restarts, because the compacted offset is outside the log (%d to %d)",
                    tp,
                    view.log_start_offset,
                    view.log_end_offset,
                )
            self._checkpoints.note_compacted(tp, candidate.first_dirty_offset)
        return candidate

    def _compact(self, chosen: Candidate) -> None:
        if self._is_stopped:
            return
        from ..compaction.compaction_plan import plan_compaction

        tp = chosen.topic_partition
        strand = self._table.strand(tp)
        if strand is None or not self._may_compact(strand.log):
            self._look_later()
            return
        worker = self._idle_workers.pop() if self._idle_workers else self._start_worker()
        run = self._runs[tp] = _Run(strand, worker, self._clock())
        settings, now_ms = self._settings(), self._clock()
        strand.submit(lambda log: plan_compaction(log, chosen, settings, now_ms), lambda plan: self._begin(run, plan))
        self.look()  # another thread may be free

    def _rest(self) -> None:
        """Nothing is due: end the idle child processes and wait for a backoff."""
        self._end_idle_workers()
        self._look_later()

    def _end_idle_workers(self) -> None:
        while self._idle_workers:
            self._idle_workers.pop().stop()

    def _settings(self) -> CompactionSettings:
        from ..compaction.compaction_job import CompactionSettings

        config = self._config()
        threads = max(config.int("log.cleaner.threads"), 1)
        return CompactionSettings(
            config.int("log.cleaner.dedupe.buffer.size") // threads,
            config.double("log.cleaner.io.buffer.load.factor"),
            config.double("log.cleaner.io.max.bytes.per.second") / threads,
        )

    # --- one compaction -----------------------------------------------------------------------------------------

    def _begin(self, run: _Run, plan: Any) -> None:
        if not self._is_current(run):
            return
        if isinstance(plan, Exception):
            self._step_failed(run, plan)
            return
        run.plan = plan
        job = plan.job
        logger.info(
            "%s: compacting %d segments, dirty from offset %d on",
            run.tp,
            len(job.segments),
            job.first_dirty_offset,
        )
        run.worker.run(job, lambda report: self._pool.post(self._take, run, report))

    def _is_current(self, run: _Run) -> bool:
        return self._runs.get(run.tp) is run and not run.is_over

    def _take(self, run: _Run, report: CompactionReport) -> None:
        from ..compaction.compaction_job import CleanedGroup, CompactionFailed

        if not self._is_current(run):
            return
        if isinstance(report, CompactionFailed):
            self._failed(run, report.reason, report.errno)
            return
        if isinstance(report, CleanedGroup):
            plan, now_ms = run.plan, self._clock()
            assert plan is not None
            run.strand.submit(lambda log: swap_in(log, plan, report, now_ms), lambda result: self._swapped(run, result))
            return
        done = report
        run.strand.submit(finish, lambda result: self._finished(run, result, done))  # after the swaps

    def _swapped(self, run: _Run, result: Any) -> None:
        if not self._is_current(run) or result is True:
            return
        if result is False:
            self.abort(run.tp)
        else:
            self._step_failed(run, result)

    def _finished(self, run: _Run, result: Any, done: CompactionDone) -> None:
        if not self._is_current(run):
            return
        if isinstance(result, Exception):  # the disk is too full for the last step of a swap: the log stays due
            self._step_failed(run, result)
        else:
            self._done(run, done)

    def _step_failed(self, run: _Run, error: Exception) -> None:
        """Handle an exception of a step on the strand."""
        errno = error.errno or 0 if isinstance(error, OSError) else 0
        self._failed(run, f"{error}", errno_codes.ENOSPC if isinstance(error, NoSpaceError) else errno)

    def _done(self, run: _Run, done: CompactionDone) -> None:
        _log_result(run.tp, run.plan, done)
        self._crashes.pop(run.tp, None)
        self.last_compaction_ms = max(self._clock() - run.began_ms, 0)
        tp, log = run.tp, run.strand.log

        def note() -> None:
            if self._table.get(tp) is log:
                self._checkpoints.note_compacted(tp, done.end_offset)
            self._pool.post(self._end_run, run)

        self._in_background(note)

    def _failed(self, run: _Run, reason: str, errno: int) -> None:
        """Handle a failed compaction, by its cause: a changed log, a full disk, a failed disk, or a damaged log."""
        from ..compaction.cleaner_child import CHILD_ENDED

        log, tp = run.strand.log, run.tp
        if self._table.get(tp) is not log or log.is_offline or not run.fits():
            self.abort(tp)
            return
        error = OSError(errno, os.strerror(errno)) if errno > 0 else None
        if error is not None and is_transient(error):
            logger.error("%s: not compacted, will be retried: %s", tp, reason)
        elif error is not None and not isinstance(error, FileNotFoundError):
            self._maybe_lose_directory(log, reason, error)
        elif errno == CHILD_ENDED and self._crashes.get(tp, 0) + 1 < _CRASHES_TO_GIVE_UP:
            self._crashes[tp] = self._crashes.get(tp, 0) + 1
            logger.error("%s: not compacted, will be retried: %s", tp, reason)
        else:
            self._crashes.pop(tp, None)
            self._uncleanable[tp] = log
            logger.error("%s is uncleanable and not compacted any more until a restart: %s", tp, reason)
        self._break_off(run)

    def _maybe_lose_directory(self, log: Log, reason: str, error: OSError) -> None:
        """Take the directory of an existing log offline after a read error. From any thread."""
        directory = self._table.directory_of(log.topic_partition)
        is_there = self._table.get(log.topic_partition) is log and not log.is_offline
        if directory is not None and is_there and not is_transient(error) and not isinstance(error, FileNotFoundError):
            self._directories.failed(directory, f"{log.topic_partition}: cannot compact: {reason}", error)

    def _end_run(self, run: _Run) -> None:
        """End a finished compaction."""
        if self._is_current(run):
            del self._runs[run.tp]
            self._idle_workers.append(run.worker)
            self.look()

    def _break_off(self, run: _Run) -> None:
        """Stop the worker and delete its files. The log may be compacted again after that and a backoff."""
        run.is_over = True
        self._put_off.add(run.tp)

        def over(_: object) -> None:
            self._runs.pop(run.tp, None)
            if not self._runs:
                self._look_later()

        def clear() -> None:
            run.worker.stop()
            self._pool.post(run.strand.submit, discard, over)

        self._in_background(clear)

    def _forget_what_is_gone(self) -> None:
        for tp in [tp for tp, log in self._uncleanable.items() if self._table.get(tp) is not log]:
            del self._uncleanable[tp]


class _Run:
    """A running compaction of one log."""

    __slots__ = ("began_ms", "is_over", "plan", "strand", "worker")

    def __init__(self, strand: Strand, worker: CompactionWorker, began_ms: int) -> None:
        self.strand = strand
        self.worker = worker
        self.began_ms = began_ms
        self.plan: CompactionPlan | None = None
        self.is_over = False
        """The compaction was cancelled; further reports are ignored."""

    @property
    def tp(self) -> TopicPartition:
        return self.strand.log.topic_partition

    def fits(self) -> bool:
        """Whether the plan still fits the log: only appends and this compaction have changed it."""
        return self.plan is None or self.plan.fits(self.strand.log)


def _start_child() -> CompactionWorker:
    from ..compaction.cleaner_child import CleanerChild

    return CleanerChild()


def _log_result(tp: TopicPartition, plan: CompactionPlan | None, done: CompactionDone) -> None:
    found = done.statistics
    logger.info(
        "%s: compacted up to offset %d in %.1f s (%.1f s for the map of keys, which is %.1f %% full): "
        "%d of %d bytes and %d of %d records are left, %.0f records a second",
        tp,
        done.end_offset,
        found.total_s,
        found.map_s,
        100 * found.map_utilization,
        found.bytes_written,
        found.bytes_read,
        found.records_written,
        found.records_read,
        found.records_read / found.total_s if found.total_s else 0,
    )
