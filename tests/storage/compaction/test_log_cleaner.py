"""The log cleaner in a store: its choice of logs, its handling of failures, and its child process."""

import errno
import logging
import os
import pickle
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest
from pybroker.base.topic_partition import TopicPartition
from pybroker.config.load import load_config
from pybroker.protocol.errors import KafkaError
from pybroker.storage.compaction.cleaner_child import CHILD_ENDED, CleanerChild, ReportCallback
from pybroker.storage.compaction.compaction_job import (
    CleanedGroup,
    CompactionDone,
    CompactionFailed,
    CompactionJob,
    CompactionReport,
    CompactionSettings,
)
from pybroker.storage.compaction.compaction_plan import plan_compaction
from pybroker.storage.compaction.segment_cleaner import compact
from pybroker.storage.files.files import Files
from pybroker.storage.log.log import Log
from pybroker.storage.log.log_retention import apply_retention
from pybroker.storage.log.log_truncation import truncate_to
from pybroker.storage.store.log_cleaner import LogCleaner
from pybroker.storage.store.log_store import LogStore
from support.logs.compaction import assessed, records_of
from support.logs.storage_faults import FaultyFiles
from support.logs.storage_logs import NOW_MS, append_as_leader, batch_of
from support.logs.storage_pools import InlinePool

TP = TopicPartition("topic", 0)
OTHER = TopicPartition("other", 0)


@dataclass
class Timer:
    delay_s: float
    step: Callable[[], None]
    is_cancelled: bool = False

    def cancel(self) -> None:
        self.is_cancelled = True


class InlineWorker:
    """A worker that does its jobs at once, in this thread."""

    def __init__(self) -> None:
        self.jobs: list[CompactionJob] = []
        self.is_stopped = False

    def run(self, job: CompactionJob, callback: ReportCallback) -> None:
        self.jobs.append(job)
        try:
            compact(pickle.loads(pickle.dumps(job)), Files(), callback)
        except KafkaError as error:
            callback(CompactionFailed(str(error)))

    def stop(self) -> None:
        self.is_stopped = True


class HeldWorker(InlineWorker):
    """A worker that does its jobs at once, but reports only on request."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[CompactionReport] = []

    def run(self, job: CompactionJob, callback: ReportCallback) -> None:
        self._callback = callback
        super().run(job, self.held.append)

    def tell(self) -> None:
        while self.held:
            self._callback(self.held.pop(0))


class FailingWorker(InlineWorker):
    def __init__(self, failure: CompactionFailed) -> None:
        super().__init__()
        self._failure = failure

    def run(self, job: CompactionJob, callback: ReportCallback) -> None:
        self.jobs.append(job)
        callback(self._failure)


@dataclass
class Bench:
    """A store with its cleaner on one thread. `look` does what the timer does."""

    store: LogStore
    make_worker: Callable[[], InlineWorker] = InlineWorker
    workers: list[InlineWorker] = field(default_factory=list)
    timers: list[Timer] = field(default_factory=list)
    logs_looked_at: int = 0

    def __post_init__(self) -> None:
        self.store.start_cleaner(self._now, self._later, self._high_watermark_of, self._start_worker)

    @property
    def cleaner(self) -> LogCleaner:
        assert self.store.cleaner is not None
        return self.store.cleaner

    @property
    def due_timers(self) -> list[Timer]:
        return [timer for timer in self.timers if not timer.is_cancelled]

    def look(self) -> None:
        timer = self.due_timers[-1]
        self.timers.clear()
        timer.step()

    def _now(self, step: Callable[[], None]) -> None:
        step()

    def _later(self, delay_s: float, step: Callable[[], None]) -> Timer:
        self.timers.append(Timer(delay_s, step))
        return self.timers[-1]

    def _high_watermark_of(self, log: Log) -> int:
        self.logs_looked_at += 1
        return log.log_end_offset

    def _start_worker(self) -> InlineWorker:
        self.workers.append(self.make_worker())
        return self.workers[-1]


def open_bench(
    path: Path,
    make_worker: Callable[[], InlineWorker] = InlineWorker,
    overrides: Mapping[str, str] | None = None,
    files: Files | None = None,
    clock: Callable[[], int] = lambda: NOW_MS,
    **settings: str,
) -> Bench:
    text = f"log.dirs={path}\nlog.segment.bytes=1000\nlog.cleanup.policy=compact\nfile.delete.delay.ms=0\n"
    text += "".join(f"{name.replace('_', '.')}={value}\n" for name, value in settings.items())
    chosen = dict(overrides or {})
    store = LogStore.open(
        load_config(text), files or Files(), InlinePool(), clock, topic_overrides=lambda topic: chosen
    )
    return Bench(store, make_worker)


def fill(store: LogStore, tp: TopicPartition = TP, batches: int = 60) -> Log:
    log = store.get_or_create(tp, is_new=True)
    for number in range(batches):
        append_as_leader(log, batch_of(str(number), key=b"%d" % (number % 3)), 0, NOW_MS)
    return log


def checkpoint_lines(path: Path) -> list[str]:
    return (path / "cleaner-offset-checkpoint").read_text().splitlines()


def leftovers(log: Log) -> list[str]:
    return [name for name in os.listdir(log.directory) if name.endswith((".cleaned", ".swap"))]


def test_due_log_is_compacted_up_to_its_active_segment(tmp_path: Path) -> None:
    bench = open_bench(tmp_path)
    log = fill(bench.store)
    active = log.segments[-1].base_offset
    assert bench.workers == [], "nothing is started before there is a look"
    bench.look()
    assert checkpoint_lines(tmp_path) == ["0", "1", f"topic 0 {active}"]
    assert [record.offset for record in records_of(log)] == list(range(active - 3, 60))
    (worker,) = bench.workers
    assert worker.is_stopped, "with nothing more to do, the worker goes"
    assert [timer.delay_s for timer in bench.due_timers] == [15.0]
    bench.look()
    assert len(bench.workers) == 1


def test_no_worker_is_started_for_logs_without_compaction_or_with_one_segment(tmp_path: Path) -> None:
    bench = open_bench(tmp_path)
    fill(bench.store, batches=3)
    bench.look()
    assert bench.workers == []
    deleting = open_bench(tmp_path / "deleting", overrides={"cleanup.policy": "delete"})
    fill(deleting.store)
    deleting.look()
    assert deleting.workers == []


def test_every_due_log_is_compacted_the_dirtiest_first(tmp_path: Path) -> None:
    bench = open_bench(tmp_path)
    fill(bench.store)
    fill(bench.store, OTHER, batches=30)
    bench.store.checkpoints.note_compacted(TP, 14)
    bench.look()
    (worker,) = bench.workers
    assert [Path(job.directory).name for job in worker.jobs] == ["other-0", "topic-0"]


def test_examining_all_logs_takes_at_most_a_tenth_of_the_time(tmp_path: Path) -> None:
    now_ms = count(NOW_MS)
    bench = open_bench(tmp_path, clock=lambda: next(now_ms))
    logs = [fill(bench.store, TopicPartition("topic", number)) for number in range(12)]
    bench.look()
    (worker,) = bench.workers
    assert {job.directory for job in worker.jobs} == {log.directory for log in logs}
    assert bench.logs_looked_at < 100, "not all of them before each compaction"
    bench.timers[-1].step()
    assert worker.is_stopped
    fill(bench.store, OTHER)
    while len(checkpoint_lines(tmp_path)) < 2 + len(logs) + 1:
        bench.look()
    assert len(bench.workers) == 2


def test_cleaner_compacts_as_many_logs_at_once_as_log_cleaner_threads_allows(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, HeldWorker, log_cleaner_threads="2")
    for number in range(3):
        fill(bench.store, TopicPartition("topic", number))
    bench.look()
    assert len(bench.workers) == 2
    settings = bench.workers[0].jobs[0].settings
    assert settings.map_bytes == (128 << 20) // 2
    for worker in bench.workers:
        assert isinstance(worker, HeldWorker)
        worker.tell()
    assert len(bench.workers) == 2
    assert sum(len(worker.jobs) for worker in bench.workers) == 3


def test_compaction_of_a_log_deleted_meanwhile_changes_nothing(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, HeldWorker)
    fill(bench.store)
    bench.look()
    (worker,) = bench.workers
    assert isinstance(worker, HeldWorker)
    bench.store.deletion.delete_log(TP)
    assert worker.is_stopped
    log = fill(bench.store)
    worker.tell()
    assert len(records_of(log)) == 60
    assert not (tmp_path / "cleaner-offset-checkpoint").exists()


def test_deleted_log_leaves_no_compacted_offset_for_a_new_log_of_its_name(tmp_path: Path) -> None:
    bench = open_bench(tmp_path)
    fill(bench.store)
    fill(bench.store, OTHER)
    bench.look()
    assert len(checkpoint_lines(tmp_path)) == 4
    bench.store.deletion.delete_log(TP)
    assert [line.split()[0] for line in checkpoint_lines(tmp_path)[2:]] == ["other"]


def test_log_truncated_during_compaction_keeps_its_segments_and_lowers_its_checkpoint(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, HeldWorker)
    log = fill(bench.store)
    bench.store.checkpoints.note_compacted(TP, 14)
    bench.look()
    (worker,) = bench.workers
    assert isinstance(worker, HeldWorker)
    truncate_to(log, 7, NOW_MS)
    assert checkpoint_lines(tmp_path)[2:] == ["topic 0 7"]
    worker.tell()
    assert worker.is_stopped
    assert len(records_of(log)) == 7
    assert leftovers(log) == []
    assert not bench.cleaner.is_compacting(TP)
    assert len(bench.cleaner.uncleanable) == 0


def test_log_that_cannot_be_compacted_is_marked_uncleanable_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bench = open_bench(tmp_path)
    log = fill(bench.store)
    fill(bench.store, OTHER)
    log.segments[1].log_ref.file().write_at(65, b"?")
    with caplog.at_level(logging.ERROR):
        bench.look()
        bench.look()
    assert "topic-0 is uncleanable" in caplog.text
    assert len(bench.cleaner.uncleanable) == 1
    assert checkpoint_lines(tmp_path)[2:] == [f"other 0 {bench.store.get(OTHER).segments[-1].base_offset}"]  # type: ignore[union-attr]
    assert leftovers(log) == []
    jobs = sum(len(worker.jobs) for worker in bench.workers)
    bench.look()
    assert sum(len(worker.jobs) for worker in bench.workers) == jobs
    bench.store.deletion.delete_log(TP)
    assert len(bench.cleaner.uncleanable) == 0


def test_log_is_marked_uncleanable_after_its_worker_died_three_times(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, lambda: FailingWorker(CompactionFailed("killed", CHILD_ENDED)))
    fill(bench.store)
    for died in (1, 2, 3):
        bench.look()
        assert len(bench.workers) == died
        assert len(bench.cleaner.uncleanable) == (died == 3)
        assert [timer.delay_s for timer in bench.due_timers] == [15.0]
    bench.look()
    assert len(bench.workers) == 3


def test_successful_compaction_resets_the_count_of_dead_workers(tmp_path: Path) -> None:
    workers: list[InlineWorker] = [FailingWorker(CompactionFailed("killed", CHILD_ENDED)) for _ in range(2)]
    workers.append(InlineWorker())
    bench = open_bench(tmp_path, lambda: workers.pop(0))
    log = fill(bench.store)
    for _ in range(3):
        bench.look()
    assert len(records_of(log)) < 30
    assert len(bench.cleaner.uncleanable) == 0


def test_compaction_is_retried_on_a_full_disk_and_a_failing_disk_goes_offline(tmp_path: Path) -> None:
    full = CompactionFailed("no space", errno.ENOSPC)
    bench = open_bench(tmp_path / "full", lambda: FailingWorker(full))
    log = fill(bench.store)
    for _ in range(5):
        bench.look()
    assert len(bench.workers) == 5
    assert not log.is_offline
    failing = open_bench(tmp_path / "failing", lambda: FailingWorker(CompactionFailed("cannot read", errno.EIO)))
    log = fill(failing.store)
    failing.look()
    assert log.is_offline


def test_swap_that_fails_on_a_full_disk_is_retried(tmp_path: Path) -> None:
    files = FaultyFiles()
    bench = open_bench(tmp_path, files=files)
    log = fill(bench.store)
    files.fault, files.operations, files.suffixes = errno.ENOSPC, ("rename",), (".index.cleaned",)
    bench.look()
    assert len(records_of(log)) == 60
    assert leftovers(log) == []
    assert len(bench.cleaner.uncleanable) == 0
    files.fault = None
    bench.look()
    assert len(records_of(log)) < 30
    assert not log.is_offline


def test_retention_skips_a_log_that_is_being_compacted(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, HeldWorker, overrides={"cleanup.policy": "compact,delete", "retention.ms": "0"})
    log = fill(bench.store)
    bench.look()
    (worker,) = bench.workers
    assert isinstance(worker, HeldWorker)
    bench.store.upkeep.apply_retention(lambda log: log.log_end_offset)
    assert log.log_start_offset == 0
    worker.tell()
    assert len(records_of(log)) < 30
    bench.store.upkeep.apply_retention(lambda log: log.log_end_offset)


def test_compaction_is_cancelled_when_leading_segments_are_deleted_meanwhile(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, HeldWorker, overrides={"cleanup.policy": "compact,delete"})
    log = fill(bench.store)
    bench.look()
    log.increment_log_start_offset(log.segments[2].base_offset)
    apply_retention(log, NOW_MS, log.log_end_offset)
    (worker,) = bench.workers
    assert isinstance(worker, HeldWorker)
    worker.tell()
    assert [record.offset for record in records_of(log)] == list(range(log.log_start_offset, 60))
    assert leftovers(log) == []
    bench.make_worker = InlineWorker
    bench.look()
    assert len(records_of(log)) < 30


def test_stop_cancels_running_compactions(tmp_path: Path) -> None:
    bench = open_bench(tmp_path, HeldWorker)
    log = fill(bench.store)
    bench.look()
    bench.store.stop_cleaner()
    (worker,) = bench.workers
    assert worker.is_stopped
    assert isinstance(worker, HeldWorker)
    worker.tell()
    assert len(records_of(log)) == 60
    assert bench.due_timers == []


def test_changed_backoff_counts_from_the_change(tmp_path: Path) -> None:
    bench = open_bench(tmp_path)
    bench.store.update_config(load_config(f"log.dirs={tmp_path}\nlog.cleaner.backoff.ms=7\n"))
    assert [timer.delay_s for timer in bench.due_timers] == [0.007]


# --- the child process ---------------------------------------------------------------------------------------------


class Reports:
    """Collects the reports of a child process and waits for them."""

    def __init__(self) -> None:
        self.found: list[CompactionReport] = []
        self._ended = threading.Semaphore(0)

    def __call__(self, report: CompactionReport) -> None:
        self.found.append(report)
        if not isinstance(report, CleanedGroup):
            self._ended.release()

    def last(self) -> CompactionReport:
        self._ended.acquire()
        return self.found[-1]


def job_of(log: Log, settings: CompactionSettings | None = None) -> CompactionJob:
    return plan_compaction(log, assessed(log), settings or CompactionSettings(), NOW_MS).job


def pid_of(child: CleanerChild) -> int | None:
    return child.pid


def test_child_process_runs_jobs_until_it_is_stopped(tmp_path: Path) -> None:
    log = fill(open_bench(tmp_path).store)
    child, reports = CleanerChild(), Reports()
    assert pid_of(child) is None, "without a job there is no process"
    child.run(job_of(log), reports)
    assert isinstance(reports.last(), CompactionDone)
    groups = len(reports.found) - 1
    pid = child.pid
    assert pid is not None
    assert os.getpriority(os.PRIO_PROCESS, pid) == min(os.getpriority(os.PRIO_PROCESS, 0) + 10, 19)
    child.run(job_of(log), reports)
    assert isinstance(reports.last(), CompactionDone)
    assert len(reports.found) == 2 * (groups + 1)
    assert child.pid == pid
    child.stop()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_killed_child_process_is_reported_and_replaced_for_the_next_job(tmp_path: Path) -> None:
    log = fill(open_bench(tmp_path).store)
    child, reports = CleanerChild(), Reports()
    slowly = CompactionSettings(max_bytes_per_s=1.0)
    child.run(job_of(log), reports)
    assert isinstance(reports.last(), CompactionDone)
    first = child.pid
    assert first is not None
    child.run(job_of(log, slowly), reports)
    os.kill(first, signal.SIGKILL)
    last = reports.last()
    assert isinstance(last, CompactionFailed)
    assert last.errno == CHILD_ENDED
    child.run(job_of(log), reports)
    assert isinstance(reports.last(), CompactionDone)
    assert child.pid != first
    child.stop()


def test_child_process_can_be_stopped_during_a_job(tmp_path: Path) -> None:
    log = fill(open_bench(tmp_path).store)
    child, reports = CleanerChild(), Reports()
    child.run(job_of(log, CompactionSettings(max_bytes_per_s=1.0)), reports)
    child.stop()
    assert not [report for report in reports.found if isinstance(report, CompactionDone)]
    assert child.pid is None


def test_error_in_the_child_process_is_reported(tmp_path: Path) -> None:
    log = fill(open_bench(tmp_path).store)
    job = job_of(log)
    path = log.segments[0].log_ref.path
    log.segments[0].log_ref.file().write_at(65, b"?")
    child, reports = CleanerChild(), Reports()
    child.run(job, reports)
    last = reports.last()
    assert isinstance(last, CompactionFailed)
    assert last.errno == 0
    assert "stored crc" in last.reason
    os.unlink(path)
    child.run(job, reports)
    last = reports.last()
    assert isinstance(last, CompactionFailed)
    assert last.errno == errno.ENOENT
    child.stop()
