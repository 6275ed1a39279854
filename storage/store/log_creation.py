"""Creation of logs: the choice of a log directory, and the cleanup after a failure."""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections.abc import Sequence

from ...base.topic_partition import TopicPartition
from ...protocol.errors import KafkaStorageError
from ..errors import NameTakenError, NoDescriptorsError, NoSpaceError
from ..files.files import Files, is_out_of_descriptors, is_out_of_space
from ..files.path_kind import PathKind
from ..log.log import Log
from ..recovery.log_recovery import StartingPoint
from .checkpoints import Checkpoints
from .log_deletion import LogDeletion
from .log_directories import LogDirectories
from .log_directory import LogDirectory
from .log_opening import LogOpening
from .log_table import LogTable, WaitingLog
from .obstacle import obstacle_at

logger = logging.getLogger(__name__)

_MAKING_LOCKS = 64
_MAX_PREFERRED = 10_000


class LogCreation:
    """Creates logs, on any thread. Different partitions are created in parallel, one partition by one thread only."""

    def __init__(
        self,
        files: Files,
        table: LogTable,
        directories: LogDirectories,
        checkpoints: Checkpoints,
        deletion: LogDeletion,
        opening: LogOpening,
    ) -> None:
        self._files = files
        self._table = table
        self._directories = directories
        self._checkpoints = checkpoints
        self._deletion = deletion
        self._opening = opening
        self._making = tuple(threading.Lock() for _ in range(_MAKING_LOCKS))  # a partition's lock is chosen by its hash
        self._preferred: dict[TopicPartition, str] = {}

    def get_or_create(self, tp: TopicPartition, is_new: bool, topic_id: uuid.UUID | None = None) -> Log:
        """Return the log of `tp`. A missing log is created in the online directory with the fewest partitions.

        A log that is not new is not created while a directory is offline, because it may be there. Blocks, without
        blocking the creation of other logs: each needs several syncs, which the disk does better in parallel. Raises
        KafkaStorageError (NoSpaceError: it may work later), ValueError when the log has another topic id.
        """
        with self._making[hash(tp) % len(self._making)]:
            self._deletion.free_name(tp)
            log = self._table.get(tp)
            if log is None:
                waiting = self._table.waiting(tp)
                log = self._create(tp, is_new) if waiting is None else self._open_waiting(tp, waiting)
            if topic_id is not None and topic_id.int:
                log.assign_topic_id(topic_id)
            return log

    def _open_waiting(self, tp: TopicPartition, waiting: WaitingLog) -> Log:
        """Open a log that the start could not open. Raises as `get_or_create` does."""
        directory = waiting.directory
        log = self._open_in(directory, tp, waiting.start, "opened") if directory.is_online else None
        if log is None:
            raise KafkaStorageError(f"{tp}: its log directory {directory.path} is offline")
        logger.info("%s: opened its log in %s, which the start could not open", tp, directory.path)
        return log

    def _create(self, tp: TopicPartition, is_new: bool) -> Log:
        offline = self._directories.offline_paths()
        if not is_new and offline:
            raise KafkaStorageError(
                f"{tp}: its log is not created, it may be in the offline log directories {', '.join(offline)}"
            )
        full: list[LogDirectory] = []
        taken: NameTakenError | None = None
        while (directory := self._choose_directory(tp, full)) is not None:
            try:
                log = self._create_in(directory, tp)
            except NoDescriptorsError:
                raise
            except NoSpaceError:
                full.append(directory)
                continue
            except NameTakenError as error:
                if self._files.kind_of(directory.path_of(str(tp))) is not PathKind.FILE:
                    raise  # a directory, or a link to a lost one, may be the partition's: another would be a second
                taken = error
                full.append(directory)
                continue
            finally:
                with self._table.lock:
                    directory.logs_in_making -= 1
            if log is not None:
                self._preferred.pop(tp, None)
                logger.debug("%s: created a log in %s", tp, directory.path)
                return log
        if taken is not None:
            raise taken
        if full:
            places = ", ".join(directory.path for directory in full)
            raise NoSpaceError(f"{tp}: its log cannot be created, no space left in {places}")
        raise KafkaStorageError(f"{tp}: no log directory is online")

    def prefer_directory(self, tp: TopicPartition, path: str) -> None:
        """Note that the log of `tp` shall be created in the log directory `path`.

        Only the last 10,000 such requests are kept, because a client may name partitions that are never created.
        """
        self._preferred.pop(tp, None)
        self._preferred[tp] = path
        while len(self._preferred) > _MAX_PREFERRED:
            self._preferred.pop(next(iter(self._preferred)), None)

    def _choose_directory(self, tp: TopicPartition, full: Sequence[LogDirectory]) -> LogDirectory | None:
        """Choose the preferred directory of `tp`, or the online one with the fewest partitions, a full one last.

        Logs that are being created count too; the caller creates one more in the result.
        """
        preferred = self._preferred.get(tp)
        with self._table.lock:
            candidates = [
                directory
                for directory in self._directories.online()
                if directory not in full and preferred in (None, directory.path)
            ]
            if not candidates:
                return None
            chosen = min(candidates, key=_load_of)
            chosen.logs_in_making += 1
            return chosen

    def _create_in(self, directory: LogDirectory, tp: TopicPartition) -> Log | None:
        """Create a log; None when the directory went offline. Raises NoDescriptorsError, NoSpaceError."""
        path = os.path.join(directory.path, str(tp))
        was_there = self._files.exists(path)
        if directory.are_offsets_stale and not self._checkpoints.write_offsets_of(directory) and directory.is_online:
            raise NoSpaceError(f"{tp}: its log is not created, the checkpoints of {directory.path} cannot be written")
        try:
            return self._open_in(directory, tp, StartingPoint(clean_stop=True))
        except NoDescriptorsError:
            raise
        except NoSpaceError:
            if not was_there:
                self._remove_half_made(directory, path)
            raise

    def _open_in(
        self, directory: LogDirectory, tp: TopicPartition, start: StartingPoint, verb: str = "created"
    ) -> Log | None:
        """Open or create a log; None when the directory went offline. `verb`: what is done to it, for errors.

        Raises NoDescriptorsError, NoSpaceError, NameTakenError.
        """
        try:
            log = self._opening.open(directory, str(tp), tp, start)
        except OSError as error:
            if is_out_of_descriptors(error):
                raise NoDescriptorsError(f"{tp}: its log cannot be {verb}: {error}") from error
            if is_out_of_space(error):
                self._directories.full(directory)
                raise NoSpaceError(f"{tp}: its log cannot be {verb}: {error}") from error
            if (obstacle := obstacle_at(self._files, directory.path_of(str(tp)), error)) is not None:
                raise NameTakenError(f"{tp}: its log cannot be {verb}: {obstacle}") from error
            self._directories.failed(directory, f"cannot create the log of {tp}", error)
            return None
        return log if self._opening.add(directory, log) else None

    def _remove_half_made(self, directory: LogDirectory, path: str) -> None:
        """Delete a half-created log, which may be created in another directory and must not be found in both."""
        try:
            self._files.delete_tree(path)
        except OSError as error:
            self._directories.failed(directory, f"cannot remove the half-created log {path}", error)


def _load_of(directory: LogDirectory) -> tuple[bool, int]:
    return directory.is_full, directory.partition_count + directory.logs_in_making
