"""A store whose logs are compacted in this process, one cleaner step at a time."""

from collections.abc import Callable, Sequence
from pathlib import Path

from pybroker.base.topic_partition import TopicPartition
from pybroker.protocol.errors import KafkaError
from pybroker.protocol.records.control import EndTransactionMarker, build_marker_batch
from pybroker.storage.compaction.cleaner_child import ReportCallback
from pybroker.storage.compaction.compaction_job import CompactionFailed, CompactionJob, CompactionReport
from pybroker.storage.compaction.segment_cleaner import compact
from pybroker.storage.files.files import Files
from pybroker.storage.log.log import Log
from pybroker.storage.producers.producer_state import AppendOrigin
from pybroker.storage.store.log_store import LogStore
from support.logs.storage_logs import append_as_leader
from support.logs.storage_pools import InlinePool

from .busy_store import store_config
from .compaction import records_of
from .storage_logs import NOW_MS, batch_of


class _StoppedError(Exception):
    """The child process is killed."""


class Worker:
    """Does the child process's work in this process, synchronously."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._is_stopped = False

    def run(self, job: CompactionJob, callback: ReportCallback) -> None:
        def report(found: CompactionReport) -> None:
            callback(found)
            if self._is_stopped:
                raise _StoppedError

        try:
            compact(job, self._files, report)
        except _StoppedError:
            pass
        except OSError as error:
            callback(CompactionFailed(str(error), error.errno or 0))
        except KafkaError as error:
            callback(CompactionFailed(str(error)))

    def stop(self) -> None:
        self._is_stopped = True


class Timer:
    def cancel(self) -> None:
        pass


def compacting_store(root: Path, files: Files | None = None, min_lag_ms: int = 0) -> LogStore:
    """A store whose clock is in the past, so that with a `min_lag_ms` a segment without records is too young for
    compaction.
    """
    overrides = {"cleanup.policy": "compact", "min.compaction.lag.ms": f"{min_lag_ms}", "max.compaction.lag.ms": "1000"}
    return LogStore.open(
        store_config(root),
        files or Files(),
        InlinePool(),
        lambda: NOW_MS + 5000,
        topic_overrides=lambda topic: overrides,
    )


def fill_with_keys(store: LogStore, partitions: Sequence[TopicPartition], count: int = 24) -> None:
    """Some keys often, in one log and in another on the other disk, a transaction of them aborted."""
    for tp in partitions:
        log = store.get(tp) or store.get_or_create(tp, is_new=True)
        for number in range(count):
            append_as_leader(log, batch_of(f"{tp} {number}", key=b"%d" % (number % 3)), 0, NOW_MS)
            if number == 9:
                fields = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "is_transactional": True}
                append_as_leader(log, batch_of("aborted", key=b"0", **fields), 0, NOW_MS)
                abort = EndTransactionMarker(False, 0)
                marker = build_marker_batch(abort, producer_id=7, producer_epoch=0, timestamp_ms=NOW_MS)
                append_as_leader(log, bytearray(marker), 0, NOW_MS, AppendOrigin.COORDINATOR)
        assert len(log.segments) > 2


def compact_all(store: LogStore, files: Files) -> None:
    """Run the cleaner with its backoffs more often than there are logs."""
    steps: list[Callable[[], None]] = []

    def later(delay_s: float, step: Callable[[], None]) -> Timer:
        steps.append(step)
        return Timer()

    store.start_cleaner(lambda step: step(), later, lambda log: log.log_end_offset, lambda: Worker(files))
    for _ in range(4):
        steps.pop()()
    assert store.cleaner is not None
    assert store.cleaner.uncleanable == []


def last_values(log: Log) -> dict[bytes | None, bytes | None]:
    return {record.key: record.value for record in records_of(log) if record.value != b"aborted"}
