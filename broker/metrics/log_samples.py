"""Samples of logs and log directories: Kafka's Log, LogManager, LogCleaner and LogCleanerManager."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ...replication.run_in_pool import RunInPool
from ...storage.log.log import Log
from ...storage.store.log_cleaner import LogCleaner
from ...storage.store.log_store import LogStore
from .durations import add_durations
from .labels import labels
from .partition_texts import PartitionTexts
from .registry import Lines, Pace, Registry, Sample, in_steps
from .series.table import series_named

__all__ = ["LogSamples"]

logger = logging.getLogger(__name__)

_LOGS_BETWEEN_PACES = 16
_IN_A_STEP = 64
_DISK_TIMEOUT_S = 1.0


class LogSamples:
    """The walk over the logs, and the sources that read what it found."""

    def __init__(
        self,
        registry: Registry,
        logs: LogStore,
        run_in_pool: RunInPool,
        clock_ms: Callable[[], int],
        now_s: Callable[[], float],
    ) -> None:
        """``clock_ms``: the wall clock. ``now_s``: a monotonic clock."""
        self._logs = logs
        self._clock_ms = clock_ms
        self._run_in_pool = run_in_pool
        self._found: list[Log] = []
        self._texts: list[str] = []  # the labels of each of them
        self._sizes: dict[str, int] = {}
        self._free: dict[str, int] = {}
        registry.add_walk(self)
        for name, value in _OF_LOGS.items():
            registry.add(series_named(name), partial(self._of_logs, value))
        directories = logs.directories
        registry.add_value(
            series_named("kafka_log_logmanager_offlinelogdirectorycount"), lambda: len(directories.offline_paths())
        )
        registry.add(series_named("kafka_log_logmanager_logdirectoryoffline"), self._offline)
        registry.add(series_named("pybroker_log_directory_size_bytes"), lambda: self._of_directories(self._sizes))
        registry.add(series_named("pybroker_log_directory_free_bytes"), lambda: self._of_directories(self._free))

        registry.add(series_named("kafka_log_logcleanermanager_uncleanable_partitions_count"), self._uncleanable)
        add_durations(registry, "kafka_log_logflushstats_logflushrateandtimems", logs.upkeep.flush_times, now_s)
        for name, number in _OF_CLEANER.items():
            registry.add(series_named(name), partial(self._of_cleaner, number))

    async def collect(self, pace: Pace) -> None:
        found, texts, labels_of = self._logs.all_logs(), list[str](), PartitionTexts().of
        sizes = {directory.path: 0 for directory in self._logs.directories.online()}
        for number, log in enumerate(found, 1):
            texts.append(labels_of(log.topic_partition))
            directory = self._logs.directory_of(log.topic_partition)
            if directory in sizes:
                sizes[directory] += log.size_bytes
            if not number % _LOGS_BETWEEN_PACES:
                await pace()
        self._found, self._texts, self._sizes = found, texts, sizes
        await self._look_at_disks()

    async def _look_at_disks(self) -> None:
        """Ask the file systems on a worker, because a network's file system may not respond."""
        reading = asyncio.ensure_future(self._run_in_pool(self._read_free_bytes))
        done, _ = await asyncio.wait([reading], timeout=_DISK_TIMEOUT_S)
        if done:
            self._free = reading.result()

    def _read_free_bytes(self) -> dict[str, int]:
        free = {}
        for directory in self._logs.directories.online():
            try:
                free[directory.path] = self._logs.files.disk_space(directory.path).usable_bytes
            except OSError as error:
                logger.debug("the free space of %s is not known: %s", directory.path, error)
        return free

    def release(self) -> list[list[Any]]:
        found: list[list[Any]] = [self._found, self._texts]
        self._found, self._texts = [], []
        return found

    def _of_logs(self, value: Callable[[Log], int]) -> Iterator[Lines]:
        for texts, logs in zip(in_steps(self._texts, _IN_A_STEP), in_steps(self._found, _IN_A_STEP), strict=True):
            yield Lines([f"{{{text} {value(log)}" for text, log in zip(texts, logs, strict=True)])

    def _offline(self) -> Iterator[Sample]:
        for directory in self._logs.directories.all:
            yield labels(logDirectory=directory.path), int(not directory.is_online)

    def _uncleanable(self) -> Iterator[Sample]:
        cleaner = self._logs.cleaner
        counts = Counter(map(self._logs.directory_of, cleaner.uncleanable if cleaner is not None else ()))
        for directory in self._logs.directories.online():
            yield labels(logDirectory=directory.path), counts[directory.path]

    def _of_cleaner(self, number: "Callable[[LogCleaner, int], float]") -> Iterator[Sample]:
        """Nothing until the cleaner has started."""
        if self._logs.cleaner is not None:
            yield "", number(self._logs.cleaner, self._clock_ms())

    def _of_directories(self, numbers: Mapping[str, int]) -> Iterator[Sample]:
        for path, number in numbers.items():
            yield labels(directory=path), number


_OF_CLEANER: Mapping[str, Callable[[LogCleaner, int], float]] = {
    "kafka_log_logcleanermanager_time_since_last_run_ms": lambda cleaner, now_ms: max(now_ms - cleaner.last_run_ms, 0),
    "kafka_log_logcleanermanager_max_dirty_percent": lambda cleaner, now_ms: cleaner.max_dirty_percent,
    "kafka_log_logcleaner_max_clean_time_secs": lambda cleaner, now_ms: cleaner.last_compaction_ms / 1000,
}
_OF_LOGS: Mapping[str, Callable[[Log], int]] = {
    "kafka_log_log_size": lambda log: log.size_bytes,
    "kafka_log_log_logstartoffset": lambda log: log.log_start_offset,
    "kafka_log_log_logendoffset": lambda log: log.log_end_offset,
    "kafka_log_log_numlogsegments": lambda log: len(log.segments),
}
