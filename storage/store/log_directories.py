"""All log directories of the broker (`log.dirs`): locks, ownership, failures.

A directory that fails goes offline with the logs in it. The broker goes on as long as one directory is online.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable

from ...base.topic_partition import TopicPartition
from ...base.unusable_path import why_unusable
from ...config.config import Config
from ..files.files import Files, is_transient
from ..files.meta_properties import (
    MetaProperties,
    agree,
    check_meta_properties,
    read_meta_properties,
    write_meta_properties,
)
from ..log.inline_append import InlineBudget
from ..log.log import Log
from ..workers.worker_pool import Pool
from .log_directory import LogDirectory
from .log_table import LogTable

logger = logging.getLogger(__name__)

DirectoryFailureCallback = Callable[[str, list[TopicPartition]], None]


class LogDirectoriesError(Exception):
    """No log directory can be used, or their contents contradict each other. One line for the operator."""


class NoLogDirectoryError(LogDirectoriesError):
    """No log directory can be used. The text says why for each."""


class LogDirectories:
    """The log directories. `all` is in the order of `log.dirs`; `table` has the logs in them."""

    def __init__(self, files: Files, pool: Pool, table: LogTable, stopwatch_s: Callable[[], float]) -> None:
        self.all: list[LogDirectory] = []
        self._files = files
        self._pool = pool
        self._table = table
        self._stopwatch_s = stopwatch_s
        self.on_failure: DirectoryFailureCallback | None = None
        """Called on the event loop with the path of a failed directory and the partitions that were in it."""
        self.on_full: Callable[[str], None] | None = None
        """Called on the event loop with the path of a directory in which a write found no space."""
        self.on_last_failure: Callable[[LogDirectoriesError], None] | None = None
        """Called on the event loop after `on_failure` when no directory is left: the broker must stop."""

    def online(self) -> list[LogDirectory]:
        return [directory for directory in self.all if directory.is_online]

    def offline_paths(self) -> list[str]:
        return [directory.path for directory in self.all if not directory.is_online]

    # --- at start -----------------------------------------------------------------------------------------------

    def lock(self, paths: Iterable[str]) -> None:
        """Lock the directories, creating missing ones. Raises LogDirectoriesError, DirectoryLockedError."""
        seen: set[str] = set()
        for path in paths:
            absolute = os.path.abspath(path)
            if os.path.realpath(absolute) in seen:
                raise LogDirectoriesError(f"log.dirs names {path} twice")
            seen.add(os.path.realpath(absolute))
            directory = LogDirectory(self._files, absolute, InlineBudget(self._stopwatch_s))
            self.all.append(directory)
            try:
                directory.open()
                directory.require_room()
            except OSError as error:
                self.failed_at_start(directory, "cannot be opened", error)
        self.require_one_online()

    def claim(self, broker_id: int, cluster_id: str, metadata_store: str | None) -> None:
        """Check that the directories belong to this broker, and write `meta.properties` into new ones.

        `metadata_store` is the file of the embedded store, None with ZooKeeper.
        Raises MetaPropertiesError, LogDirectoriesError.
        """
        online = self.online()
        new = [directory for directory in online if self._is_new(directory, broker_id, cluster_id, metadata_store)]
        for directory in new:
            try:
                found = read_meta_properties(self._files, directory.path)
                directory_id = None if found is None else found.directory_id
                write_meta_properties(self._files, directory.path, MetaProperties(broker_id, cluster_id, directory_id))
            except OSError as error:
                if is_transient(error):
                    logger.error(
                        "%s: meta.properties not written, the next start tries again: %s", directory.path, error
                    )
                else:
                    self.failed_at_start(directory, "cannot be used", error)
        self.require_one_online()

    def _is_new(self, directory: LogDirectory, broker_id: int, cluster_id: str, metadata_store: str | None) -> bool:
        """Whether `meta.properties` must be written. Raises MetaPropertiesError."""
        try:
            return bool(check_meta_properties(self._files, [directory.path], broker_id, cluster_id, metadata_store))
        except OSError as error:
            self.failed_at_start(directory, "cannot be read", error)
            return False

    def failed_at_start(self, directory: LogDirectory, what: str, error: OSError) -> None:
        """Take a directory offline at the start. No callback is called, because the broker hosts no partition yet."""
        logger.error("log directory %s %s: %s", directory.path, what, why_unusable(error, directory.path))
        directory.is_online = False
        directory.failure = error
        directory.release()

    def require_one_online(self) -> None:
        """Raise LogDirectoriesError unless a directory is online."""
        if not self.online():
            failed = ", ".join(f"{directory.path} ({_reason(directory)})" for directory in self.all)
            raise NoLogDirectoryError(f"no log directory can be used: {failed}")

    # --- failure and end ----------------------------------------------------------------------------------------

    def failed(self, directory: LogDirectory, what: str, error: OSError) -> None:
        """Take a directory offline with all logs in it. From any thread."""
        with self._table.lock:
            if not directory.is_online:
                return
            directory.is_online = False
            is_last = not self.online()
            logs = self._table.logs_in(directory)
            self._end_moves(directory, logs)
        logger.error("log directory %s is offline with %d logs: %s: %s", directory.path, len(logs), what, error)
        for log in logs:
            log.mark_offline()
        directory.release()
        partitions = [log.topic_partition for log in logs]
        partitions += self._table.waiting_in(directory)
        self._pool.post(self._report_failure, directory.path, partitions)
        if is_last:
            self._pool.post(
                self._report_last_failure,
                LogDirectoriesError(f"the last log directory went offline: {directory.path}: {what}: {error}"),
            )

    def _end_moves(self, directory: LogDirectory, logs: list[Log]) -> None:
        """End moves into a failed directory and moves of `logs` out of it. The copies are resumed at another start."""
        for move in self._table.all_moves():
            if move.destination is directory or move.log in logs:
                self._table.end_move(move)
                move.future.mark_offline()
                move.future.close_files()

    def _report_failure(self, path: str, partitions: list[TopicPartition]) -> None:
        if self.on_failure is not None:
            self.on_failure(path, partitions)

    def _report_last_failure(self, error: LogDirectoriesError) -> None:
        if self.on_last_failure is not None:
            self.on_last_failure(error)

    # --- space --------------------------------------------------------------------------------------------------

    def full(self, directory: LogDirectory) -> None:
        """Note that a write found no space in the directory. From any thread."""
        if directory.is_online and not directory.is_full:
            directory.is_full = True
            self._pool.post(self._report_full, directory.path)

    def logs_in(self, path: str) -> int:
        """Return how many logs the log directory `path` has."""
        return sum(each.partition_count for each in self.all if each.path == path)

    def has_space(self, path: str, segment_bytes: int) -> bool:
        """Whether the log directory `path` is online and has space again (see `LogDirectory.has_space`). Blocks."""
        return any(each.path == path and each.has_space(segment_bytes) for each in self.online())

    def space_again(self, path: str) -> None:
        """The next write to the log directory `path` that finds no space calls `on_full` again."""
        for directory in self.all:
            if directory.path == path:
                directory.is_full = False

    def _report_full(self, path: str) -> None:
        if self.on_full is not None:
            self.on_full(path)

    # --- the end ------------------------------------------------------------------------------------------------

    def holding(self, path: str) -> LogDirectory:
        """Return the log directory that contains the partition directory `path`."""
        parent = os.path.dirname(path)
        return next(directory for directory in self.all if directory.path == parent)

    def release(self) -> None:
        """Release the locks."""
        for directory in self.all:
            directory.release()


def _reason(directory: LogDirectory) -> str:
    return "it is offline" if directory.failure is None else why_unusable(directory.failure, directory.path)


def peek_meta_properties(files: Files, config: Config) -> MetaProperties | None:
    """Return the broker and cluster of the log directories before they are opened; None when all are new.

    Directories that cannot be read are skipped. Raises MetaPropertiesError.
    """
    found: dict[str, MetaProperties | None] = {}
    for directory in config.log_dirs:
        try:
            found[directory] = read_meta_properties(files, directory)
        except OSError as error:
            logger.debug("log directory %s cannot be read now: %s", directory, error)  # the start refuses it soon
    return agree(found)
