"""All logs of this broker, by partition and by log directory.

`open` finds, recovers and loads what is on disk; afterwards logs are made, renamed for deletion and checkpointed here.
Methods that touch files block: they run on a worker (or before the loop starts), guarded by one lock. Look-ups (`get`,
`strand`) never block. What runs by the clock is started by `StoreSchedule`.
"""

from __future__ import annotations

import logging
import os
import random
import threading
import uuid
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ..config.config import Config
from ..config.topic_config import TopicConfig
from ..protocol.errors import CorruptRecordError, KafkaError, KafkaStorageError
from .files import Files, is_out_of_descriptors, is_out_of_space, is_passing
from .flush_plan import FlushPlan
from .log import Log
from .log_config import LogConfig
from .log_directory import HIGH_WATERMARK_FILE, LOG_START_FILE, RECOVERY_POINT_FILE, LogDirectory
from .log_loader import StartingPoint, load_log
from .meta_properties import (
    MetaProperties,
    agree,
    check_meta_properties,
    read_meta_properties,
    write_meta_properties,
)
from .no_space import NoDescriptorsError, NoSpaceError
from .partition_metadata import CorruptPartitionMetadataError
from .strand import Strand
from .topic_partition import (
    DELETE_SUFFIX,
    STRAY_SUFFIX,
    TopicPartition,
    deleted_directory_name,
    parse_directory_name,
)
from .worker_pool import Pool

logger = logging.getLogger(__name__)

DirectoryFailureCallback = Callable[[str, list[TopicPartition]], None]
LaterCallback = Callable[[int, Callable[[], None]], None]
"""Runs a step that may block in so many ms, on the background pool."""


class LogDirectoriesError(Exception):
    """No log directory can be used, or what is in them contradicts itself; one line for the operator."""


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
    ) -> None:
        self.config = config
        self.files = files
        self._pool = pool
        self._clock = clock
        self._topic_overrides = topic_overrides
        self._random = randomness
        self._lock = threading.RLock()
        self._logs: dict[TopicPartition, Log] = {}
        self._strands: dict[TopicPartition, Strand] = {}
        self._directory_of: dict[TopicPartition, LogDirectory] = {}
        self.directories: list[LogDirectory] = []
        self._deleted: list[str] = []
        self._renames: dict[TopicPartition, Callable[[], None]] = {}
        self.on_directory_failure: DirectoryFailureCallback | None = None
        """Called on the loop with the directory's path and the partitions that were in it."""
        self.on_last_directory_failure: Callable[[LogDirectoriesError], None] | None = None
        """Called on the loop after it, when no directory is left: the broker has nothing to serve any more."""
        self.run_later: LaterCallback | None = None
        """Set by the schedule; without it what is due later is done at once."""
        self.in_background: Callable[[Callable[[], None]], None] | None = None
        """Set by the schedule: runs a blocking step on the background pool; without it a roll flushes nothing."""

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
        seen: set[str] = set()
        for path in self.config.log_dirs:
            absolute = os.path.abspath(path)
            if os.path.realpath(absolute) in seen:
                raise LogDirectoriesError(f"log.dirs names {path} twice")
            seen.add(os.path.realpath(absolute))
            directory = LogDirectory(self.files, absolute)
            self.directories.append(directory)
            try:
                directory.open()
            except OSError as error:
                self._offline_at_start(directory, "cannot be opened", error)
        self._require_one_online()

    def claim(self, broker_id: int, cluster_id: str) -> None:
        """Check that the directories are this broker's, and write `meta.properties` into the new ones."""
        online = [directory.path for directory in self.online_directories()]
        for path in check_meta_properties(self.files, online, broker_id, cluster_id):
            found = read_meta_properties(self.files, path)
            directory_id = None if found is None else found.directory_id
            write_meta_properties(self.files, path, MetaProperties(broker_id, cluster_id, directory_id))

    def load(self) -> None:
        """The last step of `open`: recover and load every log. Blocks."""
        started = self._clock()
        for directory in self.online_directories():
            try:
                self._load_directory(directory)
            except OSError as error:
                self._offline_at_start(directory, "cannot be read", error)
                self._forget_logs_in(directory)
        self._require_one_online()
        logger.info("loaded %d logs in %d ms", len(self._logs), self._clock() - started)

    def _load_directory(self, directory: LogDirectory) -> None:
        names = [entry.name for entry in self.files.list_directory(directory.path) if entry.is_directory]
        clean = directory.take_clean_stop_marker()
        recovery_points = directory.read_checkpoint(RECOVERY_POINT_FILE)
        log_starts = directory.read_checkpoint(LOG_START_FILE)
        to_load: list[tuple[str, TopicPartition]] = []
        for name in names:
            parsed = parse_directory_name(name)
            if parsed is None:
                logger.warning("%s: %s is no partition's directory; it is left alone", directory.path, name)
            elif parsed.suffix == DELETE_SUFFIX:
                self._deleted.append(os.path.join(directory.path, name))
            elif parsed.suffix is not None:
                kind = "stray" if parsed.suffix == STRAY_SUFFIX else "an unfinished move between log directories"
                logger.warning("%s: %s is %s; it is left alone", directory.path, name, kind)
            else:
                to_load.append((name, parsed.topic_partition))
        if to_load and not clean:
            logger.info("%s: the last stop was not clean, recovering %d logs", directory.path, len(to_load))

        def load(found: tuple[str, TopicPartition]) -> Log:
            name, tp = found
            start = StartingPoint(log_starts.get(tp, 0), recovery_points.get(tp, 0), clean)
            return self._load(directory, name, tp, start)

        threads = self.config.int("num.recovery.threads.per.data.dir")
        with ThreadPoolExecutor(threads, "pybroker-recovery") as executor:
            for log in executor.map(load, to_load):
                self._add(directory, log)

    def _load(self, directory: LogDirectory, name: str, tp: TopicPartition, start: StartingPoint) -> Log:
        path = os.path.join(directory.path, name)
        host = _DirectoryHost(self, directory)
        try:
            return load_log(self.files, host, path, tp, self.log_config(tp.topic), self._clock(), start)
        except CorruptPartitionMetadataError as error:
            raise OSError(str(error)) from error
        except CorruptRecordError as error:
            raise OSError(f"{path} cannot be read: {error}") from error

    def _add(self, directory: LogDirectory, log: Log) -> None:
        tp = log.topic_partition
        with self._lock:
            other = self._logs.get(tp)
            if other is not None:
                raise LogDirectoriesError(
                    f"{tp} is in two log directories: {other.directory} and {log.directory}; delete the one not "
                    "wanted (of a failed directory, the one in it)"
                )
            self._logs[tp] = log
            self._strands[tp] = Strand(log, self._pool, directory.budget)
            self._directory_of[tp] = directory
            directory.partition_count += 1

    def _offline_at_start(self, directory: LogDirectory, what: str, error: OSError) -> None:
        logger.error("log directory %s %s: %s", directory.path, what, error)
        directory.is_online = False
        directory.failure = error
        directory.release()

    def _require_one_online(self) -> None:
        if not any(directory.is_online for directory in self.directories):
            failed = ", ".join(f"{directory.path} ({_reason(directory)})" for directory in self.directories)
            raise LogDirectoriesError(f"no log directory can be used: {failed}")

    # --- looking up ---------------------------------------------------------------------------------------------

    def get(self, tp: TopicPartition) -> Log | None:
        return self._logs.get(tp)

    def strand(self, tp: TopicPartition) -> Strand | None:
        """The queue through which all that changes the log of `tp` goes."""
        return self._strands.get(tp)

    def all_logs(self) -> list[Log]:
        with self._lock:
            return list(self._logs.values())

    def directory_of(self, tp: TopicPartition) -> str | None:
        directory = self._directory_of.get(tp)
        return None if directory is None else directory.path

    def online_directories(self) -> list[LogDirectory]:
        return [directory for directory in self.directories if directory.is_online]

    def offline_directories(self) -> list[str]:
        return [directory.path for directory in self.directories if not directory.is_online]

    def is_online(self, tp: TopicPartition) -> bool:
        log = self._logs.get(tp)
        return log is not None and not log.is_offline

    # --- making and deleting ------------------------------------------------------------------------------------

    def log_config(self, topic: str) -> LogConfig:
        """What the logs of a topic go by: its overrides above the broker's settings."""
        return LogConfig.from_topic_config(TopicConfig.in_force(self.config, self._topic_overrides(topic)), self.config)

    def get_or_create(self, tp: TopicPartition, is_new: bool, topic_id: uuid.UUID | None = None) -> Log:
        """The log of `tp`, made in the online directory that has the fewest partitions when there is none.

        Not made when it is not new and a directory is offline: it may lie there. Blocks. Raises KafkaStorageError
        (NoSpaceError: it may work later), ValueError when the log has another topic id.
        """
        while (rename := self._renames.get(tp)) is not None:
            rename()  # a log of that name is being deleted: its directory has to be out of the way
        with self._lock:
            log = self._logs.get(tp)
            if log is None:
                log = self._create(tp, is_new)
            if topic_id is not None and topic_id.int:
                log.assign_topic_id(topic_id)
            return log

    def _create(self, tp: TopicPartition, is_new: bool) -> Log:
        offline = self.offline_directories()
        if not is_new and offline:
            raise KafkaStorageError(
                f"{tp}: not made anew, it may be in the offline log directories {', '.join(offline)}"
            )
        candidates = sorted(self.online_directories(), key=lambda directory: directory.partition_count)
        full: list[str] = []
        for directory in candidates:
            path = os.path.join(directory.path, str(tp))
            was_there = self.files.exists(path)
            try:
                log = self._load(directory, str(tp), tp, StartingPoint(clean_stop=True))
            except OSError as error:
                if is_out_of_descriptors(error):
                    raise NoDescriptorsError(f"{tp}: its log cannot be made: {error}") from error
                if is_out_of_space(error):
                    full.append(directory.path)
                    if not was_there:
                        self._remove_half_made(directory, path)
                    continue
                self.directory_failed(directory, f"cannot make the log of {tp}", error)
                continue
            self._add(directory, log)
            logger.debug("%s: made a log in %s", tp, directory.path)
            return log
        if full:
            raise NoSpaceError(f"{tp}: its log cannot be made, no space left in {', '.join(full)}")
        raise KafkaStorageError(f"{tp}: no log directory is online")

    def _remove_half_made(self, directory: LogDirectory, path: str) -> None:
        """The log may be made in another log directory, and must not be found in two at the next start."""
        try:
            self.files.delete_tree(path)
        except OSError as error:
            self.directory_failed(directory, f"cannot remove the half-made log {path}", error)

    def async_delete(self, tp: TopicPartition, renamed: Callable[[Any], None] | None = None) -> None:
        """Forget the log and rename its directory to `-delete`; its files go after `file.delete.delay.ms`.

        The rename runs on the strand, behind what is queued; `renamed` is then called on the loop, with an error or
        None. Before that the partition must not be made anew: it would find the old directory. Raises KafkaStorageError
        when the log may be in an offline directory. A partition without a log is fine.
        """
        with self._lock:
            log = self._logs.get(tp)
            strand = self._strands.get(tp)
            if log is None or strand is None:
                offline = self.offline_directories()
                if offline:
                    raise KafkaStorageError(f"{tp}: it may be in the offline log directories {', '.join(offline)}")
                if renamed is not None:
                    renamed(None)
                return
            directory = self._directory_of[tp]
            self._forget(tp)
        new_path = os.path.join(directory.path, deleted_directory_name(tp, self._new_uuid()))
        delay_ms = log.config.file_delete_delay_ms

        def rename(log: Log) -> None:
            if self._renames.get(tp) is not rename_now:
                return  # who wants the name again was faster
            try:
                # First the checkpoints: a later log of the same name must not find this one's offsets there.
                self._write_recovery_points(directory)
                self._write_log_starts(directory)
                log.rename_directory(new_path)
                log.mark_offline()  # what is still queued must not touch the name
                log.close_files()
            finally:
                self._renames.pop(tp, None)
            logger.info("%s: renamed to %s, to be deleted in %d ms", tp, new_path, delay_ms)
            self._later(delay_ms, lambda: self._delete_tree(directory, new_path))

        def rename_now() -> None:
            strand.run_now(rename)

        self._renames[tp] = rename_now
        strand.submit(rename, renamed)

    def _new_uuid(self) -> uuid.UUID:
        return uuid.UUID(int=self._random.getrandbits(128), version=4)

    def _forget(self, tp: TopicPartition) -> None:
        self._logs.pop(tp, None)
        self._strands.pop(tp, None)
        directory = self._directory_of.pop(tp, None)
        if directory is not None:
            directory.partition_count -= 1

    def _delete_tree(self, directory: LogDirectory, path: str) -> None:
        if not directory.is_online:
            return
        try:
            self.files.delete_tree(path)
            logger.info("deleted %s", path)
        except OSError as error:
            self.directory_failed(directory, f"cannot delete {path}", error)

    def _later(self, delay_ms: int, step: Callable[[], None]) -> None:
        if self.run_later is None:
            step()
        else:
            self.run_later(delay_ms, step)

    # --- settings -----------------------------------------------------------------------------------------------

    def update_topic_config(self, topic: str) -> None:
        """A topic's settings have changed: its logs go by the new ones from their next step on."""
        for log in self.all_logs():
            if log.topic_partition.topic == topic:
                self._apply_config(log)

    def update_config(self, config: Config) -> None:
        """The broker's own (dynamic) settings have changed."""
        self.config = config
        for log in self.all_logs():
            self._apply_config(log)

    def _apply_config(self, log: Log) -> None:
        config = self.log_config(log.topic_partition.topic)
        strand = self._strands.get(log.topic_partition)
        if strand is not None and config != log.config:
            strand.submit(lambda log: log.update_config(config))

    # --- by the clock -------------------------------------------------------------------------------------------

    def delete_leftovers(self) -> None:
        """Delete the `-delete` directories that the last stop left behind. Blocks."""
        leftovers, self._deleted = self._deleted, []
        for path in leftovers:
            for directory in self.online_directories():
                if os.path.dirname(path) == directory.path:
                    self._delete_tree(directory, path)

    def apply_retention(self, high_watermark_of: Callable[[Log], int]) -> None:
        """Have each log delete what is beyond its retention, on its strand. `high_watermark_of` is asked right now."""
        for tp, strand in list(self._strands.items()):
            high_watermark = high_watermark_of(strand.log)
            strand.submit(_retention_step(self._clock(), high_watermark), _log_failure(tp, "retention"))

    def remove_expired_producers(self) -> None:
        now_ms = self._clock()
        for tp, strand in list(self._strands.items()):
            strand.submit(lambda log: log.remove_expired_producers(now_ms), _log_failure(tp, "producer expiry"))

    def flush_due_logs(self) -> None:
        """Sync, in the background, the logs that `flush.ms` says to."""
        now_ms = self._clock()
        for log in self.all_logs():
            if log.unflushed_messages > 0 and now_ms - log.last_flush_ms >= log.config.flush_ms:
                self.flush_in_background(log)

    def flush_in_background(self, log: Log, *, with_active: bool = True) -> None:
        """Sync a log while it takes appends: only the plan and the new recovery point go through the strand."""
        strand = self._strands.get(log.topic_partition)
        run = self.in_background
        if strand is None or strand.log is not log or run is None:
            return

        def sync(plan: FlushPlan) -> None:
            try:
                plan.run(self.files)
            except OSError as error:
                directory = self._directory_of.get(log.topic_partition)
                if is_out_of_descriptors(error):
                    logger.warning("%s: not synced, to be tried again: %s", log.topic_partition, error)
                elif directory is not None and not log.is_offline:
                    self.directory_failed(directory, f"{log.topic_partition}: cannot sync", error)
                return
            now_ms = self._clock()
            self._pool.post(strand.submit, lambda log: log.mark_flushed(plan, now_ms))

        def planned(plan: object) -> None:
            if isinstance(plan, FlushPlan):
                run(lambda: sync(plan))

        strand.submit(lambda log: log.plan_flush(with_active=with_active), planned)

    def checkpoint_recovery_points(self) -> None:
        """Write how far each log is durable. Blocks."""
        for directory in self.online_directories():
            self._write_recovery_points(directory)

    def _write_recovery_points(self, directory: LogDirectory) -> None:
        points = {log.topic_partition: log.recovery_point for log in self.logs_in(directory)}
        self._write_checkpoint(directory, RECOVERY_POINT_FILE, points)

    def checkpoint_log_starts(self) -> None:
        """Write the log start offsets that the segments alone do not tell. Blocks."""
        for directory in self.online_directories():
            self._write_log_starts(directory)

    def _write_log_starts(self, directory: LogDirectory) -> None:
        views = [log.view for log in self.logs_in(directory)]
        starts = {view.topic_partition: view.log_start_offset for view in views if view.starts_inside_a_segment}
        self._write_checkpoint(directory, LOG_START_FILE, starts)

    def read_high_watermarks(self) -> dict[TopicPartition, int]:
        """The checkpointed high watermarks of all online directories. Blocks."""
        found: dict[TopicPartition, int] = {}
        for directory in self.online_directories():
            found.update(directory.read_checkpoint(HIGH_WATERMARK_FILE))
        return found

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[TopicPartition, int]) -> None:
        """Write the high watermarks, each into the directory its log is in. Blocks."""
        for directory in self.online_directories():
            logs = self.logs_in(directory)
            here = {
                log.topic_partition: high_watermarks[log.topic_partition]
                for log in logs
                if log.topic_partition in high_watermarks
            }
            self._write_checkpoint(directory, HIGH_WATERMARK_FILE, here)

    def _write_checkpoint(self, directory: LogDirectory, name: str, offsets: Mapping[TopicPartition, int]) -> None:
        try:
            directory.write_checkpoint(name, offsets)
        except OSError as error:
            if is_passing(error):
                logger.error("%s: cannot write %s, the old one stays: %s", directory.path, name, error.strerror)
            else:
                self.directory_failed(directory, f"cannot write {name}", error)

    def logs_in(self, directory: LogDirectory) -> list[Log]:
        with self._lock:
            return [self._logs[tp] for tp, other in self._directory_of.items() if other is directory]

    # --- failure and end ----------------------------------------------------------------------------------------

    def directory_failed(self, directory: LogDirectory, what: str, error: OSError) -> None:
        """Take a directory offline with all that is in it. From any thread."""
        with self._lock:
            if not directory.is_online:
                return
            directory.is_online = False
            is_last = not self.online_directories()
            logs = [self._logs[tp] for tp, other in self._directory_of.items() if other is directory]
        logger.error("log directory %s is offline with %d logs: %s: %s", directory.path, len(logs), what, error)
        for log in logs:
            log.mark_offline()
        directory.release()
        self._pool.post(self._tell_of_failure, directory.path, [log.topic_partition for log in logs])
        if is_last:
            self._pool.post(
                self._tell_of_the_end,
                LogDirectoriesError(f"no log directory is online any more: {directory.path}: {what}: {error}"),
            )

    def _tell_of_failure(self, path: str, partitions: list[TopicPartition]) -> None:
        if self.on_directory_failure is not None:
            self.on_directory_failure(path, partitions)

    def _tell_of_the_end(self, error: LogDirectoriesError) -> None:
        if self.on_last_directory_failure is not None:
            self.on_last_directory_failure(error)

    def _forget_logs_in(self, directory: LogDirectory) -> None:
        with self._lock:
            for tp in [tp for tp, other in self._directory_of.items() if other is directory]:
                self._logs[tp].close_files()
                self._forget(tp)

    def close(self, broker_epoch: int = -1) -> None:
        """Flush and close every log, write the checkpoints and the marker of a clean stop, release the locks.

        What is still queued on a strand then fails. Blocks.
        """
        for directory in self.online_directories():
            clean = self._close_logs(self.logs_in(directory))
            self._write_recovery_points(directory)
            self._write_log_starts(directory)
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
            strand = self._strands.get(log.topic_partition)
            try:
                if strand is not None:
                    strand.run_now(flush_and_close)
            except KafkaError as error:
                clean = False
                logger.error("%s: not closed cleanly: %s", log.topic_partition, error)
        return clean

    def release(self) -> None:
        """Let go of the directories without writing anything, as after a crash."""
        for log in self.all_logs():
            log.close_files()
        for directory in self.directories:
            directory.release()


class _DirectoryHost:
    """What the logs of one directory ask of the store."""

    def __init__(self, store: LogStore, directory: LogDirectory) -> None:
        self._store = store
        self._directory = directory

    def delete_later(self, paths: list[str], delay_ms: int) -> None:
        def delete() -> None:
            if not self._directory.is_online:
                return
            try:
                for path in paths:
                    self._store.files.delete(path)
            except OSError as error:
                self._store.directory_failed(self._directory, "cannot delete segments", error)

        self._store._later(delay_ms, delete)

    def directory_failed(self, what: str, error: OSError) -> None:
        self._store.directory_failed(self._directory, what, error)

    def rolled(self, log: Log) -> None:
        self._store._pool.post(_flush_closed, self._store, log)

    def truncated(self, log: Log) -> None:
        self._store._write_recovery_points(self._directory)

    def roll_jitter_ms(self, bound_ms: int) -> int:
        return self._store._random.randrange(bound_ms) if bound_ms > 0 else 0


def _flush_closed(store: LogStore, log: Log) -> None:
    store.flush_in_background(log, with_active=False)


def _retention_step(now_ms: int, high_watermark: int) -> Callable[[Log], list[int]]:
    return lambda log: log.apply_retention(now_ms, high_watermark)


def _log_failure(tp: TopicPartition, what: str) -> Callable[[object], None]:
    def done(result: object) -> None:
        if isinstance(result, KafkaError):
            logger.warning("%s: %s failed: %s", tp, what, result)

    return done


def _reason(directory: LogDirectory) -> str:
    error = directory.failure
    return error.strerror or str(error) if error is not None else "it is offline"


def _no_overrides(topic: str) -> Mapping[str, str]:
    return {}


def peek_meta_properties(files: Files, config: Config) -> MetaProperties | None:
    """What the log directories say of broker and cluster, before anything is opened; None when all are new.

    Directories that cannot be read are passed over. Raises MetaPropertiesError.
    """
    found: dict[str, MetaProperties | None] = {}
    for directory in config.log_dirs:
        try:
            found[directory] = read_meta_properties(files, directory)
        except OSError as error:
            logger.warning("log directory %s cannot be read: %s", directory, error)
    return agree(found)
