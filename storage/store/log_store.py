"""The store of all logs of a broker: opens the log directories, creates, configures and closes logs.

How: `open` finds, recovers and loads the logs on disk. The parts of the store do the rest: `directories`,
`checkpoints`, `creation`, `deletion`, `moves`, `upkeep`. Methods that use files block, so they run on a worker or
before the event loop starts. Look-ups (`get`, `strand`) never block. `StoreSchedule` runs the periodic work.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from ...base.timers import CallLater
from ...base.topic_partition import DELETE_SUFFIX, FUTURE_SUFFIX, TopicPartition, parse_directory_name
from ...config.config import Config
from ...config.topic_config import TopicConfig
from ...protocol.errors import KafkaError
from ..files.files import Files, is_out_of_space, is_transient
from ..log.log import Log
from ..log.log_files import MARK_FILE
from ..log.strand import Strand
from ..log_config import LogConfig
from ..recovery.log_recovery import StartingPoint
from ..recovery.recovery_progress import RecoveryProgress
from ..workers.worker_pool import Pool
from .checkpoints import Checkpoints
from .directory_host import DirectoryHost
from .load_report import LoadReport
from .log_cleaner import LogCleaner
from .log_creation import LogCreation
from .log_deletion import LogDeletion
from .log_directories import LogDirectories, LogDirectoriesError
from .log_directory import HIGH_WATERMARK_FILE, LOG_START_FILE, LogDirectory
from .log_move import LogMove
from .log_mover import LogMover
from .log_opening import LogOpening
from .log_table import LogTable
from .log_upkeep import LogUpkeep
from .obstacle import obstacle_at
from .recovery_plan import FoundCopy, FoundLogs, Unflushed, find_unflushed, recover_ahead
from .store_parts import StoreParts
from .unfinished_move import settle_unfinished_moves

if TYPE_CHECKING:
    from ..compaction.cleaner_child import CompactionWorker

logger = logging.getLogger(__name__)


class LogStore:
    """The logs of a broker. Made by `open`."""

    def __init__(
        self,
        config: Config,
        files: Files,
        pool: Pool,
        clock: Callable[[], int],
        topic_overrides: Callable[[str], Mapping[str, str]],
        randomness: random.Random,
        stopwatch_s: Callable[[], float] = time.perf_counter,
    ) -> None:
        self.config = config
        self.files = files
        self._pool = pool
        self.clock_ms = clock
        self._topic_overrides = topic_overrides
        self._table = LogTable()
        self.directories = LogDirectories(files, pool, self._table, stopwatch_s)
        self.checkpoints = Checkpoints(self.directories, self._table)
        self._parts = StoreParts(pool, clock, self._table, self.directories, self.checkpoints)
        self.deletion = LogDeletion(files, pool, self._table, self.directories, self.checkpoints, randomness)
        self.upkeep = LogUpkeep(files, pool, clock, self._table, self.directories, stopwatch_s)
        self._randomness = randomness
        self._opening = LogOpening(files, pool, clock, self._table, self.log_config, self._host_in)
        self.creation = LogCreation(
            files, self._table, self.directories, self.checkpoints, self.deletion, self._opening
        )
        self._loading_is_given_up = threading.Event()
        self._report = LoadReport()
        self._progress: RecoveryProgress | None = None
        self.logs_to_load: dict[str, int] = {}
        """By log directory, the logs that the start has not loaded yet."""
        self.cleaner: LogCleaner | None = None
        """Set by `start_cleaner`."""
        self.moves = LogMover(
            config,
            self._parts,
            self.deletion,
            self._opening.open,
            self.deletion.new_uuid,
        )

    def _host_in(self, directory: LogDirectory) -> DirectoryHost:
        parts = self.directories, self.checkpoints, self.deletion, self.upkeep
        return DirectoryHost(directory, *parts, self._pool, self._randomness)

    # --- opening ------------------------------------------------------------------------------------------------

    @classmethod
    def open(
        cls,
        config: Config,
        files: Files,
        pool: Pool,
        clock: Callable[[], int],
        *,
        broker_id: int | None = None,
        cluster_id: str | None = None,
        topic_overrides: Callable[[str], Mapping[str, str]] | None = None,
        randomness: random.Random | None = None,
    ) -> LogStore:
        """Lock the log directories, check their owner, recover and load every log in them.

        With `broker_id` and `cluster_id`, `meta.properties` is checked against them, and written if it is missing.
        `clock` returns ms since 1970. Raises MetaPropertiesError, LogDirectoriesError, DirectoryLockedError.
        """
        overrides = topic_overrides if topic_overrides is not None else _no_overrides
        store = cls(config, files, pool, clock, overrides, randomness or random.Random())
        try:
            store.lock_directories()
            if broker_id is not None and cluster_id is not None:
                store.claim(broker_id, cluster_id)
            store.load()
        except BaseException:
            store.release()
            raise
        return store

    def lock_directories(self) -> None:
        """Step one of `open`: lock the log directories, creating missing ones. Raises as `open` does."""
        self.directories.lock(self.config.log_dirs)

    def claim(self, broker_id: int, cluster_id: str) -> None:
        """Step two of `open`: check the owner of the directories, write `meta.properties` into new ones."""
        metadata_store = str(self.config.metadata_store_path) if self.config.uses_embedded_store else None
        self.directories.claim(broker_id, cluster_id, metadata_store)

    def load(self, begin_step: Callable[[str], None] = lambda step: None) -> None:
        """The last step of `open`: recover and load every log. Blocks.

        `begin_step` is called with each part of the work, as a noun.
        """
        started, self._report = self.clock_ms(), LoadReport()
        found = [logs for directory in self.directories.online() if (logs := self._find_logs(directory)) is not None]
        settle_unfinished_moves(self.files, found, self.directories, self.deletion)
        unflushed = [self._find_unflushed(logs) for logs in found]
        sizes = [log.size_bytes for logs in unflushed for log in logs]
        if sizes:
            begin_step(f"the recovery of the logs in {', '.join(logs.directory.path for logs in found)}")
        progress = RecoveryProgress(len(sizes), sum(sizes), self.clock_ms, self._loading_is_given_up.is_set)
        self._progress = progress if sizes else None
        threads = self.config.int("num.recovery.threads.per.data.dir")
        recovered = recover_ahead(self.files, unflushed, threads, self.log_config, self.clock_ms(), progress)
        found = [logs for logs in found if logs.directory.is_online]
        self.logs_to_load = {logs.directory.path: len(logs.logs) for logs in found}
        for logs in found:
            work = "opening" if logs.clean_stop else "recovery"
            begin_step(f"the {work} of the logs in {logs.directory.path}")
            try:
                self._load_found(logs, recovered, progress)
            except OSError as error:
                self.directories.failed_at_start(logs.directory, "cannot be read", error)
                self._forget_logs_in(logs.directory)
        self.directories.require_one_online()
        self._load_copies(found, recovered, progress)
        progress.finish()
        self._progress = None
        self._report.write()
        logger.info("loaded %d logs in %d ms", len(self._table), self.clock_ms() - started)

    def recovered_share(self) -> float | None:
        """The part of the recovery that is done, from 0 to 1; None when none is under way. On any thread."""
        progress = self._progress
        return None if progress is None else progress.share()

    def give_up_loading(self) -> None:
        """Make a `load` that runs in another thread end after the logs it is loading now. Does not wait."""
        self._loading_is_given_up.set()

    def _find_logs(self, directory: LogDirectory) -> FoundLogs | None:
        """Return the logs in a directory; None when it cannot be read and is offline now."""
        try:
            names = [entry.name for entry in self.files.list_log_directory(directory.path) if entry.is_directory]
            clean = directory.take_clean_stop_marker()
            points = directory.read_recovery_points()
            log_starts = directory.read_checkpoint(LOG_START_FILE)
        except OSError as error:
            self.directories.failed_at_start(directory, "cannot be read", error)
            return None
        logs, copies = self._partitions_among(names, directory)
        if logs and not clean:
            logger.info("%s: the last stop was not clean, recovering %d logs", directory.path, len(logs))
        return FoundLogs(directory, logs, copies, clean, points, log_starts)

    def _find_unflushed(self, found: FoundLogs) -> list[Unflushed]:
        """Return the logs and copies in a directory that must be recovered."""
        has_leftover = self.deletion.has_leftover
        copies = [copy for copy in found.copies if not has_leftover(copy.topic_partition, copy.unique)]
        try:
            return find_unflushed(self.files, found._replace(copies=copies))
        except OSError as error:
            self.directories.failed_at_start(found.directory, "cannot be read", error)
            return []

    def _load_found(self, found: FoundLogs, recovered: set[str], progress: RecoveryProgress) -> None:
        directory = found.directory

        def load(named: tuple[str, TopicPartition]) -> Log | None:
            name, tp = named
            if self._loading_is_given_up.is_set():
                raise LogDirectoriesError(f"{directory.path}: loading its logs was cancelled")
            start = found.start_of(tp)
            if directory.path_of(name) in recovered:
                start = replace(start, is_recovered=True)
            return self._open_found(directory, name, tp, start, progress)

        threads = self.config.int("num.recovery.threads.per.data.dir")
        if threads == 1:
            self._add_all(directory, map(load, found.logs))
        else:
            with ThreadPoolExecutor(threads, "pybroker-recovery") as executor:
                self._add_all(directory, executor.map(load, found.logs))
        if found.recovery_points is None:  # from now on a log without an entry is a new one
            self.checkpoints.write_recovery_points_of(directory)

    def _open_found(
        self, directory: LogDirectory, name: str, tp: TopicPartition, start: StartingPoint, progress: RecoveryProgress
    ) -> Log | None:
        """Open a log; None when the disk is too full now, or an obstacle is at its path. Raises OSError."""
        try:
            log = self._opening.open(directory, name, tp, start, progress.read, self._report.reindexed.append)
        except OSError as error:
            obstacle = obstacle_at(self.files, directory.path_of(name), error)
            if obstacle is None and not is_transient(error):
                raise
            self._opening.wait(directory, tp, start)
            if obstacle is not None:
                self._report.is_obstructed(directory.path, obstacle)
                return None
            self._report.lacks_space(directory.path, error)
            if is_out_of_space(error):
                self.directories.full(directory)
            return None
        if start.needs_recovery:
            progress.log_is_done()
        return log

    def _add_all(self, directory: LogDirectory, logs: Iterable[Log | None]) -> None:
        for log in logs:
            self.logs_to_load[directory.path] -= 1
            if log is not None:
                self._opening.add(directory, log)

    def _partitions_among(
        self, names: Iterable[str], directory: LogDirectory
    ) -> tuple[list[tuple[str, TopicPartition]], list[FoundCopy]]:
        """Return the partition directories among `names`, and the copies of logs that were moving here.

        Deleted logs are noted as leftovers; all other directories are ignored.
        """
        logs: list[tuple[str, TopicPartition]] = []
        copies: list[FoundCopy] = []
        for name in names:
            parsed = parse_directory_name(name)
            if parsed is None:
                logger.warning("%s: %s is not a partition directory, ignored", directory.path, name)
            elif parsed.suffix == DELETE_SUFFIX:
                self.deletion.note_leftover(directory, os.path.join(directory.path, name))
            elif parsed.suffix == FUTURE_SUFFIX:
                copies.append(FoundCopy(name, parsed.topic_partition, parsed.unique or ""))
            elif parsed.suffix is not None:
                logger.warning("%s: %s is a stray partition directory, ignored", directory.path, name)
            else:
                logs.append((name, parsed.topic_partition))
        return logs, copies

    def _load_copies(self, found: Iterable[FoundLogs], recovered: set[str], progress: RecoveryProgress) -> None:
        """Resume the moves between log directories that the last stop left unfinished."""
        for logs in found:
            directory = logs.directory
            for copy in logs.copies:
                if not directory.is_online:
                    continue
                try:
                    self._load_copy(logs, copy, recovered, progress)
                except OSError as error:
                    path = directory.path_of(copy.name)
                    obstacle = obstacle_at(self.files, path, error)
                    if obstacle is not None or is_transient(error):
                        logger.error("%s: not opened now, the next start tries again: %s", path, obstacle or error)
                        continue
                    self.directories.failed_at_start(directory, "cannot be read", error)
                    self._forget_logs_in(directory)
        self.directories.require_one_online()

    def _load_copy(self, logs: FoundLogs, copy: FoundCopy, recovered: set[str], progress: RecoveryProgress) -> None:
        tp = copy.topic_partition
        if self._table.get(tp) is None and self.deletion.has_leftover(tp, copy.unique):
            self._finish_move(logs, copy, progress)
            return
        is_recovered = logs.directory.path_of(copy.name) in recovered
        start = replace(logs.start_of(tp), is_copy=True, is_recovered=is_recovered)
        self.moves.resume(logs.directory, copy, start, progress.read)
        if start.needs_recovery:
            progress.log_is_done()

    def _finish_move(self, logs: FoundLogs, copy: FoundCopy, progress: RecoveryProgress) -> None:
        """Finish a move that stopped between its two renames: give the copy the log's name."""
        directory, tp = logs.directory, copy.topic_partition
        logger.info("%s: finishing its move to %s", tp, directory.path)
        self.files.rename(directory.path_of(copy.name), directory.path_of(str(tp)))
        self.files.sync_directory(directory.path)
        self.files.delete(os.path.join(directory.path_of(str(tp)), MARK_FILE))
        self.files.sync_directory(directory.path_of(str(tp)))
        start = logs.start_of(tp)
        log = self._open_found(directory, str(tp), tp, start, progress)
        if log is not None:
            self._opening.add(directory, log)

    def read_high_watermarks(self) -> dict[TopicPartition, int]:
        """Return the high watermarks in the checkpoints, at the start. A directory where that fails goes offline.

        Raises NoLogDirectoryError when no directory is left.
        """
        found: dict[TopicPartition, int] = {}
        for directory in self.directories.online():
            try:
                found.update(directory.read_checkpoint(HIGH_WATERMARK_FILE))
            except OSError as error:
                self.directories.failed_at_start(directory, "cannot be read", error)
                self._forget_logs_in(directory)
        self.directories.require_one_online()
        return found

    def _forget_logs_in(self, directory: LogDirectory) -> None:
        for log in self._table.logs_in(directory):
            log.close_files()
            self._table.remove(log.topic_partition)
        for tp in self._table.waiting_in(directory):
            self._table.wait_no_more(tp)
        for move in self._table.all_moves():
            if move.destination is directory or move.source is directory:
                self._table.end_move(move)
                move.future.close_files()

    # --- look-ups -----------------------------------------------------------------------------------------------

    def get(self, tp: TopicPartition) -> Log | None:
        return self._table.get(tp)

    def strand(self, tp: TopicPartition) -> Strand | None:
        """Return the strand of the log of `tp`, which runs all its changes."""
        return self._table.strand(tp)

    def all_logs(self) -> list[Log]:
        return self._table.all_logs()

    def all_strands(self) -> list[Strand]:
        return self._table.all_strands()

    def logs_in(self, directory: LogDirectory) -> list[Log]:
        return self._table.logs_in(directory)

    def moves_to(self, directory: LogDirectory) -> list[LogMove]:
        """Return the moves whose copies are in that directory."""
        return self._table.moves_to(directory)

    def directory_of(self, tp: TopicPartition) -> str | None:
        directory = self._table.directory_of(tp)
        return None if directory is None else directory.path

    def is_online(self, tp: TopicPartition) -> bool:
        log = self._table.get(tp)
        return log is not None and not log.is_offline

    def get_or_create(self, tp: TopicPartition, is_new: bool, topic_id: uuid.UUID | None = None) -> Log:
        """Return the log of `tp`, created if it is missing (see `LogCreation.get_or_create`)."""
        return self.creation.get_or_create(tp, is_new, topic_id)

    # --- compaction ---------------------------------------------------------------------------------------------

    def start_cleaner(
        self,
        in_background: Callable[[Callable[[], None]], None],
        call_later: CallLater,
        high_watermark_of: Callable[[Log], int],
        start_worker: Callable[[], CompactionWorker] | None = None,
    ) -> None:
        """Start compaction. On the event loop; arguments as for `LogCleaner`."""
        cleaner = LogCleaner(
            lambda: self.config,
            self._parts,
            in_background=in_background,
            call_later=call_later,
            high_watermark_of=high_watermark_of,
            start_worker=start_worker,
        )
        self.cleaner = cleaner
        self.upkeep.is_compacting = cleaner.is_compacting
        self.deletion.on_deletion = cleaner.abort
        self.moves.on_begin = cleaner.abort
        cleaner.start()

    def stop_cleaner(self) -> None:
        """Stop compaction. Blocks until the child processes have ended; they finish nothing."""
        if self.cleaner is not None:
            self.cleaner.stop()

    # --- settings -----------------------------------------------------------------------------------------------

    def log_config(self, topic: str) -> LogConfig:
        """Return the settings of a topic's logs: its overrides above the broker's settings."""
        return LogConfig.from_topic_config(TopicConfig.in_force(self.config, self._topic_overrides(topic)), self.config)

    def update_topic_config(self, topic: str) -> None:
        """Apply the changed settings of a topic to its logs, from their next step on."""
        for log in self.all_logs():
            if log.topic_partition.topic == topic:
                self._apply_config(log)

    def update_config(self, config: Config) -> None:
        """Apply the broker's changed (dynamic) settings."""
        self.config = config
        self.moves.update_config(config)
        for log in self.all_logs():
            self._apply_config(log)
        if self.cleaner is not None:
            self.cleaner.settings_changed()

    def _apply_config(self, log: Log) -> None:
        config = self.log_config(log.topic_partition.topic)
        strand = self._table.strand(log.topic_partition)
        if strand is not None and config != log.config:
            strand.submit(lambda log: log.update_config(config))

    # --- the end ------------------------------------------------------------------------------------------------

    def close(self, broker_epoch: int = -1) -> None:
        """Flush and close every log, write the checkpoints and the clean-stop markers, release the locks. Blocks.

        Steps still queued on a strand fail afterwards.
        """
        self.moves.stop()
        unclean = self.moves.close()
        for directory in self.directories.online():
            clean = self._close_logs(self.logs_in(directory)) and directory not in unclean
            # The marker says that no log in the directory needs recovery.
            clean = clean and not any(each.start.needs_recovery for each in self._table.waiting_in(directory).values())
            self.checkpoints.write_offsets_of(directory)
            if clean and directory.is_online:
                try:
                    directory.write_clean_stop_marker(broker_epoch)
                except OSError as error:
                    logger.error(
                        "%s: the clean-stop marker cannot be written, the next start recovers its logs: %s",
                        directory.path,
                        error,
                    )
        self.release()

    def _close_logs(self, logs: Iterable[Log]) -> bool:
        def flush_and_close(log: Log) -> None:
            log.flush(self.clock_ms())
            log.close()

        clean = True
        for log in logs:
            strand = self._table.strand(log.topic_partition)
            try:
                if strand is not None:
                    strand.run_now(flush_and_close)
            except KafkaError as error:
                clean = False
                logger.error("%s: not closed cleanly: %s", log.topic_partition, error)
        return clean

    def release(self) -> None:
        """Release the directories without writing anything, as after a crash."""
        self.moves.stop()
        self.moves.release()
        for log in self.all_logs():
            log.close_files()
        self.directories.release()


def _no_overrides(topic: str) -> Mapping[str, str]:
    return {}
