"""All logs of this broker: opened with the log directories, made, configured, and closed.

`open` finds, recovers and loads what is on disk. The store's parts do the rest, by name: `directories`, `checkpoints`,
`deletion`, `upkeep`. Methods that touch files block: they run on a worker (or before the loop starts). Look-ups (`get`,
`strand`) never block. What runs by the clock is started by `StoreSchedule`.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from ..config.config import Config
from ..config.topic_config import TopicConfig
from ..protocol.errors import CorruptRecordError, KafkaError, KafkaStorageError
from .checkpoints import Checkpoints
from .directory_host import DirectoryHost
from .files import Files, is_out_of_descriptors, is_out_of_space
from .log import Log
from .log_cleaner import CancelHandle, LogCleaner
from .log_config import LogConfig
from .log_deletion import LogDeletion
from .log_directories import LogDirectories, LogDirectoriesError
from .log_directory import LOG_START_FILE, LogDirectory
from .log_loader import load_log
from .log_move import LogMove
from .log_moves import FoundCopy, LogMoves
from .log_recovery import ProgressCallback, StartingPoint
from .log_table import LogTable
from .log_upkeep import LogUpkeep
from .no_space import NoDescriptorsError, NoSpaceError
from .recovery_plan import FoundLogs, Unflushed, find_unflushed, recover_ahead
from .recovery_progress import RecoveryProgress
from .strand import Strand
from .topic_partition import DELETE_SUFFIX, FUTURE_SUFFIX, TopicPartition, parse_directory_name
from .worker_pool import Pool

if TYPE_CHECKING:
    from .cleaner_child import CompactionWorker

logger = logging.getLogger(__name__)

_MAKING_LOCKS = 64
_MOST_PREFERRED = 10_000


class LogStore:
    """See the module's text. `open` is the way to make one."""

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
        self._clock = clock
        self._topic_overrides = topic_overrides
        self._random = randomness
        self._table = LogTable()
        self._making = tuple(threading.Lock() for _ in range(_MAKING_LOCKS))  # a partition's is by its hash
        self.directories = LogDirectories(files, pool, self._table, stopwatch_s)
        self.checkpoints = Checkpoints(self.directories, self._table)
        self.deletion = LogDeletion(files, self._table, self.directories, self.checkpoints, randomness)
        self.upkeep = LogUpkeep(files, pool, clock, self._table, self.directories)
        self._loading_is_given_up = threading.Event()
        self.cleaner: LogCleaner | None = None
        """Set by `start_cleaner`."""
        self.moves = LogMoves(
            config,
            pool,
            clock,
            self._table,
            self.directories,
            self.checkpoints,
            self.deletion,
            self._open_copy,
            self.deletion.new_uuid,
        )
        self._copies_found: list[FoundCopy] = []
        self._preferred: dict[TopicPartition, str] = {}

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
        """Lock the log directories, check whose they are, recover and load every log in them.

        With `broker_id` and `cluster_id`, `meta.properties` is checked against them and written where it is missing;
        `clock` gives ms since 1970. Raises MetaPropertiesError, LogDirectoriesError, DirectoryLockedError.
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
        """Step one of `open`: lock the log directories, making those that are missing. Raises as `open` does."""
        self.directories.lock(self.config.log_dirs)

    def claim(self, broker_id: int, cluster_id: str) -> None:
        """Check that the directories are this broker's, and write `meta.properties` into the new ones."""
        self.directories.claim(broker_id, cluster_id)

    def load(self) -> None:
        """The last step of `open`: recover and load every log. Blocks."""
        started = self._clock()
        surveys = [self._find_logs(directory) for directory in self.directories.online()]
        found = [logs for logs, _ in filter(None, surveys)]
        unflushed = [logs for _, logs in filter(None, surveys)]
        sizes = [log.size_bytes for logs in unflushed for log in logs]
        progress = RecoveryProgress(len(sizes), sum(sizes), self._clock, self._loading_is_given_up.is_set)
        threads = self.config.int("num.recovery.threads.per.data.dir")
        recovered = recover_ahead(self.files, unflushed, threads, self.log_config, self._clock(), progress)
        for logs in found:
            try:
                self._load_found(logs, recovered, progress)
            except OSError as error:
                self.directories.failed_at_start(logs.directory, "cannot be read", error)
                self._forget_logs_in(logs.directory)
        progress.finish()
        self.directories.require_one_online()
        self._load_copies()
        logger.info("loaded %d logs in %d ms", len(self._table), self._clock() - started)

    def give_up_loading(self) -> None:
        """Have a `load` that runs just now in another thread end soon, behind the logs it is at. Does not wait."""
        self._loading_is_given_up.set()

    def _find_logs(self, directory: LogDirectory) -> tuple[FoundLogs, list[Unflushed]] | None:
        """The logs, and those to be recovered. None: the directory cannot be read, and is offline."""
        try:
            names = [entry.name for entry in self.files.list_directory(directory.path) if entry.is_directory]
            clean = directory.take_clean_stop_marker()
            points = directory.read_recovery_points()
            log_starts = directory.read_checkpoint(LOG_START_FILE)
            found = FoundLogs(directory, self._partitions_among(names, directory), clean, points, log_starts)
            unflushed = find_unflushed(self.files, found)
        except OSError as error:
            self.directories.failed_at_start(directory, "cannot be read", error)
            return None
        if found.logs and not clean:
            logger.info("%s: the last stop was not clean, recovering %d logs", directory.path, len(found.logs))
        return found, unflushed

    def _load_found(self, found: FoundLogs, recovered: set[str], progress: RecoveryProgress) -> None:
        directory = found.directory

        def load(named: tuple[str, TopicPartition]) -> Log:
            name, tp = named
            if self._loading_is_given_up.is_set():
                raise LogDirectoriesError(f"{directory.path}: loading its logs was given up")
            start = found.start_of(tp)
            if os.path.join(directory.path, name) in recovered:
                return self._load(directory, name, tp, replace(start, is_recovered=True))
            log = self._load(directory, name, tp, start, progress.read)
            if start.needs_recovery:
                progress.log_is_done()
            return log

        threads = self.config.int("num.recovery.threads.per.data.dir")
        if threads == 1:
            for named in found.logs:
                self._add(directory, load(named))
        else:
            with ThreadPoolExecutor(threads, "pybroker-recovery") as executor:
                for log in executor.map(load, found.logs):
                    self._add(directory, log)
        if found.recovery_points is None:  # from now on, a log that is not in it is a new one
            self.checkpoints.write_recovery_points_of(directory)

    def _partitions_among(self, names: Iterable[str], directory: LogDirectory) -> list[tuple[str, TopicPartition]]:
        """The names that are partitions' directories, and whose. What else is there is left alone, or deleted later."""
        found: list[tuple[str, TopicPartition]] = []
        for name in names:
            parsed = parse_directory_name(name)
            if parsed is None:
                logger.warning("%s: %s is no partition's directory; it is left alone", directory.path, name)
            elif parsed.suffix == DELETE_SUFFIX:
                self.deletion.note_leftover(directory, os.path.join(directory.path, name))
            elif parsed.suffix == FUTURE_SUFFIX:
                self._copies_found.append(FoundCopy(directory, name, parsed.topic_partition, parsed.unique or ""))
            elif parsed.suffix is not None:
                logger.warning("%s: %s is stray; it is left alone", directory.path, name)
            else:
                found.append((name, parsed.topic_partition))
        return found

    def _load_copies(self) -> None:
        """Go on with the moves between log directories that the last stop left unfinished."""
        found, self._copies_found = self._copies_found, []
        for copy in found:
            directory = copy.directory
            if not directory.is_online:
                continue
            try:
                if self._table.get(copy.topic_partition) is None and self.deletion.has_leftover(
                    copy.topic_partition, copy.unique
                ):
                    self._finish_move(copy)
                else:
                    self.moves.resume(copy)
            except OSError as error:
                self.directories.failed_at_start(directory, "cannot be read", error)
                self._forget_logs_in(directory)
        self.directories.require_one_online()

    def _finish_move(self, copy: FoundCopy) -> None:
        """The stop came when the log had lost its name to the copy, and before the copy had it."""
        directory, tp = copy.directory, copy.topic_partition
        logger.info("%s: finishing its move to %s", tp, directory.path)
        self.files.rename(os.path.join(directory.path, copy.name), os.path.join(directory.path, str(tp)))
        self.files.sync_directory(directory.path)
        self._add(directory, self._load(directory, str(tp), tp, self._starting_point(directory, tp, is_copy=False)))

    def _starting_point(self, directory: LogDirectory, tp: TopicPartition, *, is_copy: bool) -> StartingPoint:
        """What the checkpoints said at the start."""
        return StartingPoint(
            directory.read_checkpoint(LOG_START_FILE).get(tp, 0),
            (directory.read_recovery_points() or {}).get(tp, 0),
            clean_stop=directory.had_clean_stop,
            is_copy=is_copy,
        )

    def _open_copy(self, directory: LogDirectory, name: str, tp: TopicPartition) -> Log:
        """The copy of a log that is moving into `directory`, made when it is not there."""
        is_new = not self.files.exists(os.path.join(directory.path, name))
        start = StartingPoint(clean_stop=True) if is_new else self._starting_point(directory, tp, is_copy=True)
        return self._load(directory, name, tp, start)

    def _load(
        self,
        directory: LogDirectory,
        name: str,
        tp: TopicPartition,
        start: StartingPoint,
        progress: ProgressCallback = lambda size_bytes: None,
    ) -> Log:
        path = os.path.join(directory.path, name)
        host = DirectoryHost(
            directory, self.directories, self.checkpoints, self.deletion, self.upkeep, self._pool, self._random
        )
        try:
            return load_log(self.files, host, path, tp, self.log_config(tp.topic), self._clock(), start, progress)
        except (CorruptRecordError, KafkaStorageError) as error:  # the latter: what recovery cuts cannot be written
            raise OSError(f"{path} cannot be read: {error}") from error

    def _add(self, directory: LogDirectory, log: Log) -> bool:
        """False: the directory was lost meanwhile, and the log's files are closed."""
        tp = log.topic_partition
        with self._table.lock:
            other = self._table.get(tp)
            if other is not None:
                raise LogDirectoriesError(
                    f"{tp} is in two log directories: {other.directory} and {log.directory}; delete the one not "
                    "wanted (of a failed directory, the one in it)"
                )
            if self._table.add(log, Strand(log, self._pool, directory.budget), directory):
                return True
        log.close_files()
        return False

    def _forget_logs_in(self, directory: LogDirectory) -> None:
        for log in self._table.logs_in(directory):
            log.close_files()
            self._table.remove(log.topic_partition)
        for move in self._table.all_moves():
            if move.destination is directory or move.source is directory:
                self._table.end_move(move)
                move.future.close_files()

    # --- looking up ---------------------------------------------------------------------------------------------

    def get(self, tp: TopicPartition) -> Log | None:
        return self._table.get(tp)

    def strand(self, tp: TopicPartition) -> Strand | None:
        """The queue through which all that changes the log of `tp` goes."""
        return self._table.strand(tp)

    def all_logs(self) -> list[Log]:
        return self._table.all_logs()

    def logs_in(self, directory: LogDirectory) -> list[Log]:
        return self._table.logs_in(directory)

    def moves_to(self, directory: LogDirectory) -> list[LogMove]:
        """The moves whose copies lie in that directory."""
        return self._table.moves_to(directory)

    def directory_of(self, tp: TopicPartition) -> str | None:
        directory = self._table.directory_of(tp)
        return None if directory is None else directory.path

    def is_online(self, tp: TopicPartition) -> bool:
        log = self._table.get(tp)
        return log is not None and not log.is_offline

    # --- making -------------------------------------------------------------------------------------------------

    def get_or_create(self, tp: TopicPartition, is_new: bool, topic_id: uuid.UUID | None = None) -> Log:
        """The log of `tp`, made in the online directory that has the fewest partitions when there is none.

        Not made when it is not new and a directory is offline: it may lie there. Blocks, but not those who make others:
        a log costs several syncs, and those of logs that are made at once cost the disk little more than those of one.
        Raises KafkaStorageError (NoSpaceError: it may work later), ValueError when the log has another topic id.
        """
        with self._making[hash(tp) % len(self._making)]:
            self.deletion.free_name(tp)
            log = self._table.get(tp)
            if log is None:
                log = self._create(tp, is_new)
            if topic_id is not None and topic_id.int:
                log.assign_topic_id(topic_id)
            return log

    def _create(self, tp: TopicPartition, is_new: bool) -> Log:
        offline = self.directories.offline_paths()
        if not is_new and offline:
            raise KafkaStorageError(
                f"{tp}: not made anew, it may be in the offline log directories {', '.join(offline)}"
            )
        full: list[LogDirectory] = []
        while (directory := self._choose_directory(tp, full)) is not None:
            try:
                log = self._create_in(directory, tp)
            except NoDescriptorsError:
                raise
            except NoSpaceError:
                full.append(directory)
                continue
            finally:
                with self._table.lock:
                    directory.logs_in_making -= 1
            if log is not None:
                self._preferred.pop(tp, None)
                logger.debug("%s: made a log in %s", tp, directory.path)
                return log
        if full:
            places = ", ".join(directory.path for directory in full)
            raise NoSpaceError(f"{tp}: its log cannot be made, no space left in {places}")
        raise KafkaStorageError(f"{tp}: no log directory is online")

    def prefer_directory(self, tp: TopicPartition, path: str) -> None:
        """Have the log of `tp` made in the log directory `path`, when it is made. Wishes are kept for so many only:
        anyone may name partitions that there will never be."""
        self._preferred.pop(tp, None)
        self._preferred[tp] = path
        while len(self._preferred) > _MOST_PREFERRED:
            self._preferred.pop(next(iter(self._preferred)), None)

    def _choose_directory(self, tp: TopicPartition, full: Sequence[LogDirectory]) -> LogDirectory | None:
        """The one that is preferred for `tp`, or the online one with the fewest partitions, those counted that are
        being made; the caller makes one more."""
        preferred = self._preferred.get(tp)
        with self._table.lock:
            candidates = [
                directory
                for directory in self.directories.online()
                if directory not in full and preferred in (None, directory.path)
            ]
            if not candidates:
                return None
            chosen = min(candidates, key=lambda directory: directory.partition_count + directory.logs_in_making)
            chosen.logs_in_making += 1
            return chosen

    def _create_in(self, directory: LogDirectory, tp: TopicPartition) -> Log | None:
        """None: the directory is offline now. Raises NoDescriptorsError, NoSpaceError."""
        path = os.path.join(directory.path, str(tp))
        was_there = self.files.exists(path)
        try:
            log = self._load(directory, str(tp), tp, StartingPoint(clean_stop=True))
        except OSError as error:
            if is_out_of_descriptors(error):
                raise NoDescriptorsError(f"{tp}: its log cannot be made: {error}") from error
            if is_out_of_space(error):
                if not was_there:
                    self._remove_half_made(directory, path)
                raise NoSpaceError(f"{tp}: its log cannot be made: {error}") from error
            self.directories.failed(directory, f"cannot make the log of {tp}", error)
            return None
        return log if self._add(directory, log) else None

    def _remove_half_made(self, directory: LogDirectory, path: str) -> None:
        """The log may be made in another log directory, and must not be found in two at the next start."""
        try:
            self.files.delete_tree(path)
        except OSError as error:
            self.directories.failed(directory, f"cannot remove the half-made log {path}", error)

    # --- compaction ---------------------------------------------------------------------------------------------

    def start_cleaner(
        self,
        in_background: Callable[[Callable[[], None]], None],
        call_later: Callable[[float, Callable[[], None]], CancelHandle],
        high_watermark_of: Callable[[Log], int],
        start_worker: Callable[[], CompactionWorker] | None = None,
    ) -> None:
        """Have compacted topics compacted from now on. On the loop; arguments as for `LogCleaner`."""
        cleaner = LogCleaner(
            lambda: self.config,
            self._pool,
            self._clock,
            self._table,
            self.directories,
            self.checkpoints,
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
        """Blocks until the child processes are gone, which are not asked to finish anything."""
        if self.cleaner is not None:
            self.cleaner.stop()

    # --- settings -----------------------------------------------------------------------------------------------

    def log_config(self, topic: str) -> LogConfig:
        """What the logs of a topic go by: its overrides above the broker's settings."""
        return LogConfig.from_topic_config(TopicConfig.in_force(self.config, self._topic_overrides(topic)), self.config)

    def update_topic_config(self, topic: str) -> None:
        """A topic's settings have changed: its logs go by the new ones from their next step on."""
        for log in self.all_logs():
            if log.topic_partition.topic == topic:
                self._apply_config(log)

    def update_config(self, config: Config) -> None:
        """The broker's own (dynamic) settings have changed."""
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
        """Flush and close every log, write the checkpoints and the marker of a clean stop, release the locks.

        What is still queued on a strand then fails. Blocks.
        """
        self.moves.stop()
        unclean = self.moves.close()
        for directory in self.directories.online():
            clean = self._close_logs(self.logs_in(directory)) and directory not in unclean
            self.checkpoints.write_offsets_of(directory)
            if clean and directory.is_online:
                try:
                    directory.write_clean_stop_marker(broker_epoch)
                except OSError as error:
                    logger.error("%s: cannot mark the stop as clean: %s", directory.path, error)
        self.release()

    def _close_logs(self, logs: Iterable[Log]) -> bool:
        def flush_and_close(log: Log) -> None:
            log.flush(self._clock())
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
        """Let go of the directories without writing anything, as after a crash."""
        self.moves.stop()
        self.moves.release()
        for log in self.all_logs():
            log.close_files()
        self.directories.release()


def _no_overrides(topic: str) -> Mapping[str, str]:
    return {}
