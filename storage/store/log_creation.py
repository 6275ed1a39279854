"""Making logs: in which log directory, and what becomes of one that could not be made."""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections.abc import Sequence

from ...base.topic_partition import TopicPartition
from ...protocol.errors import KafkaStorageError
from ..errors import NoDescriptorsError, NoSpaceError
from ..files.files import Files, is_out_of_descriptors, is_out_of_space
from ..log.log import Log
from ..recovery.log_recovery import StartingPoint
from .checkpoints import Checkpoints
from .log_deletion import LogDeletion
from .log_directories import LogDirectories
from .log_directory import LogDirectory
from .log_opening import LogOpening
from .log_table import LogTable, WaitingLog

logger = logging.getLogger(__name__)

_MAKING_LOCKS = 64
_MOST_PREFERRED = 10_000


class LogCreation:
    """On any thread. The logs of several partitions are made at once, that of one by one thread only."""

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
        self._making = tuple(threading.Lock() for _ in range(_MAKING_LOCKS))  # a partition's is by its hash
        self._preferred: dict[TopicPartition, str] = {}

    def get_or_create(self, tp: TopicPartition, is_new: bool, topic_id: uuid.UUID | None = None) -> Log:
        """The log of `tp`, made in the online directory that has the fewest partitions when there is none.

        Not made when it is not new and a directory is offline: it may lie there. Blocks, but not those who make others:
        a log costs several syncs, and those of logs that are made at once cost the disk little more than those of one.
        Raises KafkaStorageError (NoSpaceError: it may work later), ValueError when the log has another topic id.
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
        """It lies in its directory, and at the start there was no room to open it. Raises as `get_or_create` does."""
        directory = waiting.directory
        log = self._open_in(directory, tp, waiting.start) if directory.is_online else None
        if log is None:
            raise KafkaStorageError(f"{tp}: its log directory {directory.path} is offline")
        logger.info("%s: opened its log in %s, there is room again", tp, directory.path)
        return log

    def _create(self, tp: TopicPartition, is_new: bool) -> Log:
        offline = self._directories.offline_paths()
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
                for directory in self._directories.online()
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
        was_there = self._files.exists(path)
        if directory.are_offsets_stale and not self._checkpoints.write_offsets_of(directory) and directory.is_online:
            raise NoSpaceError(f"{tp}: its log is not made, the checkpoints of {directory.path} cannot be written")
        try:
            return self._open_in(directory, tp, StartingPoint(clean_stop=True))
        except NoDescriptorsError:
            raise
        except NoSpaceError:
            if not was_there:
                self._remove_half_made(directory, path)
            raise

    def _open_in(self, directory: LogDirectory, tp: TopicPartition, start: StartingPoint) -> Log | None:
        """None: the directory is offline now. Raises NoDescriptorsError, NoSpaceError."""
        try:
            log = self._opening.open(directory, str(tp), tp, start)
        except OSError as error:
            if is_out_of_descriptors(error):
                raise NoDescriptorsError(f"{tp}: its log cannot be made: {error}") from error
            if is_out_of_space(error):
                raise NoSpaceError(f"{tp}: its log cannot be made: {error}") from error
            self._directories.failed(directory, f"cannot make the log of {tp}", error)
            return None
        return log if self._opening.add(directory, log) else None

    def _remove_half_made(self, directory: LogDirectory, path: str) -> None:
        """The log may be made in another log directory, and must not be found in two at the next start."""
        try:
            self._files.delete_tree(path)
        except OSError as error:
            self._directories.failed(directory, f"cannot remove the half-made log {path}", error)
