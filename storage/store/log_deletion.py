"""Deletion of logs and segments: renamed at once, deleted after `file.delete.delay.ms`, when readers have finished."""

from __future__ import annotations

import logging
import os
import random
import uuid
from collections.abc import Callable
from typing import Any

from ...base.topic_partition import TopicPartition, deleted_directory_name, parse_directory_name
from ...protocol.errors import KafkaStorageError
from ..errors import NoSpaceError
from ..files.files import Files, is_transient
from ..log.log import Log
from ..workers.long_work_queue import LongWorkSource
from ..workers.worker_pool import Pool
from .checkpoints import Checkpoints
from .log_directories import LogDirectories
from .log_directory import LogDirectory
from .log_move import LogMove
from .log_table import LogTable, WaitingLog
from .obstacle import obstacle_at

logger = logging.getLogger(__name__)

LaterCallback = Callable[[int, Callable[[], None]], None]
"""Runs a blocking step after so many ms, on the background pool."""


class LogDeletion:
    """Deletes logs, their segments, and the copies of cancelled moves."""

    def __init__(
        self,
        files: Files,
        pool: Pool,
        table: LogTable,
        directories: LogDirectories,
        checkpoints: Checkpoints,
        randomness: random.Random,
    ) -> None:
        self._files = files
        self._pool = pool
        self._long_work = LongWorkSource()
        self._table = table
        self._directories = directories
        self._checkpoints = checkpoints
        self._random = randomness
        self._renames: dict[TopicPartition, Callable[[], None]] = {}
        self._leftovers: list[tuple[LogDirectory, str]] = []
        self.on_deletion: Callable[[TopicPartition], None] | None = None
        """Called on the event loop with the partition whose log is being deleted."""
        self.run_later: LaterCallback | None = None
        """Set by the schedule. Without it delayed deletions happen at once."""

    def delete_log(self, tp: TopicPartition, renamed: Callable[[Any], None] | None = None) -> None:
        """Remove the log from the table and rename its directory to `-delete`.

        The files are deleted after `file.delete.delay.ms`. The rename runs on the strand after queued steps; `renamed`
        is then called on the event loop with None or an error. Until then the partition must not be created again,
        because it would find the old directory. A partition without a log is no error. Raises KafkaStorageError when
        the log may be in an offline directory.
        """
        with self._table.lock:
            log, strand, move = self._table.get(tp), self._table.strand(tp), self._table.move(tp)
            waiting = self._table.waiting(tp)
            if waiting is not None and waiting.directory.is_online:
                self._table.wait_no_more(tp)
                self._delete_waiting(tp, waiting, renamed)
                return
            if log is None or strand is None:
                offline = self._directories.offline_paths()
                if offline:
                    raise KafkaStorageError(f"{tp}: it may be in the offline log directories {', '.join(offline)}")
                if renamed is not None:
                    renamed(None)
                return
            departure = self._table.remove(tp)
            if move is not None:
                self._table.end_move(move)
        if self.on_deletion is not None:
            self.on_deletion(tp)
        name = deleted_directory_name(tp, self.new_uuid())
        delay_ms = log.config.file_delete_delay_ms

        def rename(log: Log) -> None:
            if self._renames.get(tp) is not rename_now:
                return  # `free_name` has renamed it already
            directory = self._directories.holding(log.directory)  # the log may have moved meanwhile
            new_path = os.path.join(directory.path, name)
            try:
                # The copy first: after a crash the log is then deleted again, and no copy without a log is left.
                copy_path = None if move is None else self._rename_copy(move)
                # Then the checkpoints: a later log of the same partition must not find this log's offsets.
                self._checkpoints.write_offsets_without(departure, directory)
                self._checkpoints.forget_compacted(directory, tp)
                is_renamed = self._rename_away(log, new_path)
                log.mark_offline()  # queued steps must not use the name any more
                log.close_files()
                if not is_renamed:
                    self._delete_in_place(directory, log.directory)
                if move is not None and copy_path is not None:
                    self._delete_tree(move.destination, copy_path)
            finally:
                self._renames.pop(tp, None)
            if is_renamed:
                logger.info("%s: renamed to %s, to be deleted in %d ms", tp, new_path, delay_ms)
                self.delete_directory_later(directory, new_path, delay_ms)

        def rename_now() -> None:
            strand.run_now(rename)

        self._renames[tp] = rename_now
        strand.submit(rename, renamed, is_long=True)

    def _delete_waiting(self, tp: TopicPartition, waiting: WaitingLog, renamed: Callable[[Any], None] | None) -> None:
        """Delete a log that the start could not open."""
        directory = waiting.directory
        path = directory.path_of(deleted_directory_name(tp, self.new_uuid()))

        def rename() -> None:
            outcome: KafkaStorageError | None = None
            self._checkpoints.write_offsets_of(directory)
            self._checkpoints.forget_compacted(directory, tp)
            try:
                if self._files.set_aside_directory(directory.path_of(str(tp)), path):
                    self._delete_tree(directory, path)
                else:
                    self._delete_in_place(directory, directory.path_of(str(tp)))
            except KafkaStorageError as error:
                outcome = error
            except OSError as error:
                self._directories.failed(directory, f"cannot delete the log of {tp}", error)
                outcome = KafkaStorageError(f"{tp}: its log cannot be deleted: {error}")
            if renamed is not None:
                self._pool.post(renamed, outcome)

        self._pool.submit_long(rename, self._long_work)

    def discard_copy(self, move: LogMove) -> None:
        """Delete the copy of a cancelled move, on which no thread works any more. Blocks."""
        path = self._rename_copy_away(move)
        if path is not None:
            self._delete_tree(move.destination, path)

    def _rename_copy(self, move: LogMove) -> str | None:
        with move.lock:
            return None if move.is_done else self._rename_copy_away(move)  # when the move is done, the copy is the log

    def _rename_copy_away(self, move: LogMove) -> str | None:
        """Rename a copy to `-delete`, because a half-deleted copy must not be resumed.

        None: its directory is offline.
        """
        copy = move.future
        copy.mark_offline()
        copy.close_files()
        if not move.destination.is_online:
            return None
        path = os.path.join(move.destination.path, deleted_directory_name(move.topic_partition, self.new_uuid()))
        try:
            if not self._rename_away(copy, path):
                self._delete_in_place(move.destination, copy.directory)
                return None
        except KafkaStorageError:
            return None
        return path

    def _rename_away(self, log: Log, path: str) -> bool:
        """Rename a log's directory. False when the disk is too full for the name. Raises KafkaStorageError."""
        try:
            log.rename_directory(path)
        except NoSpaceError:
            return False
        return True

    def delete_directory(self, directory: LogDirectory, path: str) -> None:
        """Delete a log's directory that no reader uses. Blocks."""
        self._delete_tree(directory, path)

    def delete_directory_later(self, directory: LogDirectory, path: str, delay_ms: int) -> None:
        """Delete a log's directory when readers have had time to finish."""
        self._later(delay_ms, lambda: self._delete_tree(directory, path))

    def free_name(self, tp: TopicPartition) -> None:
        """Rename a log of `tp` that is being deleted, so that a new one can be created. Blocks."""
        while (rename := self._renames.get(tp)) is not None:
            rename()

    def delete_files_later(self, directory: LogDirectory, paths: list[str], delay_ms: int) -> None:
        """Delete a log's files that were renamed to `.deleted`."""

        def delete() -> None:
            if not directory.is_online:
                return
            for path in paths:
                try:
                    self._files.delete(path)
                except OSError as error:
                    if not is_transient(error):
                        self._directories.failed(directory, "cannot delete segments", error)
                        return
                    # btrfs needs free space even for this
                    logger.warning("%s cannot be deleted now, the next start deletes it: %s", path, error)

        self._later(delay_ms, delete)

    def note_leftover(self, directory: LogDirectory, path: str) -> None:
        """Note a `-delete` directory that was found at the start."""
        self._leftovers.append((directory, path))

    def delete_at_start(self, directory: LogDirectory, tp: TopicPartition, path: str) -> None:
        """Rename a directory that is not the log of `tp` to `-delete` and note it as a leftover. Raises OSError."""
        deleted = directory.path_of(deleted_directory_name(tp, self.new_uuid()))
        self._files.rename(path, deleted)
        self._files.sync_directory(directory.path)
        self.note_leftover(directory, deleted)

    def has_leftover(self, tp: TopicPartition, unique: str) -> bool:
        """Whether the start found a log of `tp` that was renamed to `-delete` with that id."""
        for _, path in self._leftovers:
            parsed = parse_directory_name(os.path.basename(path))
            if parsed is not None and parsed.topic_partition == tp and parsed.unique == unique:
                return True
        return False

    def delete_leftovers(self) -> None:
        """Delete the `-delete` directories that the last stop left behind. Blocks."""
        leftovers, self._leftovers = self._leftovers, []
        for directory, path in leftovers:
            self._delete_tree(directory, path)

    def _delete_tree(self, directory: LogDirectory, path: str) -> None:
        if not directory.is_online:
            return
        try:
            self._files.delete_tree(path)
            logger.info("deleted %s", path)
        except OSError as error:
            if (obstacle := obstacle_at(self._files, path, error)) is not None:
                logger.error("%s cannot be deleted, the next start tries again: %s", path, obstacle)
                return
            self._directories.failed(directory, f"cannot delete {path}", error)

    def _delete_in_place(self, directory: LogDirectory, path: str) -> None:
        """Delete a log that could not be renamed, from its end, so that a crash leaves no log with missing offsets.

        Raises KafkaStorageError.
        """
        logger.warning("%s: deleting it at once, because the disk is too full to rename it", path)
        try:
            for entry in reversed(self._files.list_directory(path)):
                if entry.name[0].isdigit():
                    self._files.delete(os.path.join(path, entry.name))
        except OSError as error:
            self._directories.failed(directory, f"cannot delete {path}", error)
        self._delete_tree(directory, path)
        if not directory.is_online:
            raise KafkaStorageError(f"{path} is not deleted, its log directory is offline")

    def _later(self, delay_ms: int, step: Callable[[], None]) -> None:
        if self.run_later is None:
            step()
        else:
            self.run_later(delay_ms, step)

    def new_uuid(self) -> uuid.UUID:
        """Return a random id that makes a directory name unique."""
        return uuid.UUID(int=self._random.getrandbits(128), version=4)
