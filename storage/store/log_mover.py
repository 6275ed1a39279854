"""All moves of logs between log directories (AlterReplicaLogDirs, KIP-113).

    begin   a worker creates the copy; the move waits in a queue, then a thread for moves copies a piece at a time
    finish  on the log's strand, when the copy has caught up; if too much is left, copying continues
    cancel  the copy is deleted; also when the partition is deleted

The next start resumes the copies that a stop left behind. A full disk is retried. When a directory fails, its moves
end, and a log whose copy was there is served as before.
"""

from __future__ import annotations

import logging
import os
import threading
import uuid
from collections import deque
from collections.abc import Callable
from typing import Protocol

from ...base.topic_partition import TopicPartition, future_directory_name
from ...config.config import Config
from ...protocol.errors import KafkaError, KafkaStorageError
from ..errors import NoSpaceError
from ..files.files import is_transient
from ..log.log import Log
from ..recovery.log_recovery import ProgressCallback, StartingPoint
from .log_deletion import LogDeletion
from .log_directory import LogDirectory
from .log_move import LogMove
from .move_throttle import MoveThrottle
from .recovery_plan import FoundCopy
from .store_parts import StoreParts

logger = logging.getLogger(__name__)

_STEP_BYTES = 8 << 20
"""Most bytes copied before the event loop decides how to continue."""
_RETRY_MS = 2_000


def _no_progress(size_bytes: int) -> None:
    """The progress callback of an opening that reads nothing."""


class OpenCopy(Protocol):
    """Opens or creates the log in a directory of that name (`LogOpening.open`). Raises OSError."""

    def __call__(
        self, directory: LogDirectory, name: str, tp: TopicPartition, start: StartingPoint, progress: ProgressCallback
    ) -> Log: ...


class MoveRunner(Protocol):
    """Runs the blocking steps of moves on threads of their own."""

    def submit(self, step: Callable[[], None]) -> None:
        """Run `step` on such a thread. Called on the event loop."""

    def later(self, delay_ms: int, callback: Callable[[], None]) -> None:
        """Run `callback` on the event loop in `delay_ms`. Called on the event loop."""


class LogMover:
    """All moves. The schedule sets `runner`; without one a move is done in the thread that begins it."""

    def __init__(
        self,
        config: Config,
        parts: StoreParts,
        deletion: LogDeletion,
        open_copy: OpenCopy,
        new_uuid: Callable[[], uuid.UUID],
    ) -> None:
        self._pool, self._clock, self._table, self._directories, self._checkpoints = parts
        self._deletion = deletion
        self._open_copy = open_copy
        self._new_uuid = new_uuid
        self._throttle = MoveThrottle(_rate_of(config))
        self._throttle_lock = threading.Lock()
        self._begins = threading.Lock()  # one at a time, so that the second move of a partition finds the first
        self._max_working = threads_of(config)
        self._working = 0
        self._waiting: deque[LogMove] = deque()
        self._stopped = False
        self.runner: MoveRunner | None = None
        self.on_begin: Callable[[TopicPartition], None] | None = None
        """Called on the event loop when a partition begins to move, to cancel its compaction."""

    # --- requests for moves----------------------------------------------------------------------------------------

    def begin(self, tp: TopicPartition, path: str) -> None:
        """Begin to move the log of `tp` to the log directory `path`, which the caller has checked.

        A move to another directory is cancelled. Does nothing when the log is there or on its way there. Blocks. Raises
        KafkaStorageError.
        """
        with self._begins:
            move = self._table.move(tp)
            if move is not None and move.destination.path != path:
                self.cancel(move)
                move = None
            log, source = self._table.get(tp), self._table.directory_of(tp)
            if log is None or source is None or log.is_offline:
                raise KafkaStorageError(
                    f"{tp}: not moved, this broker has no log of it, or its log directory is offline"
                )
            if move is not None or source.path == path:
                return
            offline = self._directories.offline_paths()
            if offline:
                raise KafkaStorageError(
                    f"{tp}: not moved, a copy of it may be in the offline log directories {', '.join(offline)}"
                )
            destination = next((each for each in self._directories.online() if each.path == path), None)
            if destination is None:
                raise KafkaStorageError(f"{tp}: not moved, log directory {path} is offline")
            move = self._new_move(log, source, destination)
        self._pool.post(self._enqueue, move)

    def _new_move(self, log: Log, source: LogDirectory, destination: LogDirectory) -> LogMove:
        tp = log.topic_partition
        unique = self._new_uuid()
        name = future_directory_name(tp, unique)
        try:
            future = self._open_copy(destination, name, tp, StartingPoint(clean_stop=True), _no_progress)
        except OSError as error:
            if is_transient(error):
                self._deletion.delete_directory(destination, os.path.join(destination.path, name))
                raise NoSpaceError(f"{tp}: not moved to {destination.path}: {error}") from error
            self._directories.failed(destination, f"cannot create a copy of the log of {tp}", error)
            raise KafkaStorageError(f"{tp}: log directory {destination.path} failed: {error}") from error
        move = LogMove(log, future, source, destination, unique)
        try:
            if log.topic_id is not None:
                future.assign_topic_id(log.topic_id)
            self._add(move)
        except KafkaError:
            self._discard(move)
            raise
        logger.info("%s: moving from %s to %s", tp, source.path, destination.path)
        return move

    def _add(self, move: LogMove) -> None:
        if not self._table.add_move(move):
            raise KafkaStorageError(
                f"{move.topic_partition}: not moved, its log was deleted or a log directory went offline"
            )

    def cancel(self, move: LogMove) -> None:
        """Cancel a move and delete its copy. A move that is just being finished stays finished. Blocks."""
        if self._table.end_move(move):
            logger.info("%s: no longer moving to %s", move.topic_partition, move.destination.path)
            with move.lock:  # waits for a thread that works on the copy
                if not move.is_done:
                    self._discard(move)

    def _discard(self, move: LogMove) -> None:
        move.is_ended = True
        self._deletion.discard_copy(move)

    # --- at start and stop ----------------------------------------------------------------------------------------

    def resume(
        self, directory: LogDirectory, found: FoundCopy, start: StartingPoint, progress: ProgressCallback = _no_progress
    ) -> None:
        """Resume the move of a copy that the last stop left in `directory`; delete a copy that does not fit.

        Blocks. Called before `start`. Raises OSError.
        """
        tp, path = found.topic_partition, directory.path_of(found.name)
        log, source = self._table.get(tp), self._table.directory_of(tp)
        if log is None or source is None:
            logger.warning("%s: ignored, this broker has no log that it is a copy of", path)
            return
        future = self._open_copy(directory, found.name, tp, start, progress)
        move = LogMove(log, future, source, directory, _uuid_of(found.unique) or self._new_uuid())
        is_other = None not in (future.topic_id, log.topic_id) and future.topic_id != log.topic_id
        if is_other or source is directory or not self._table.add_move(move):
            logger.warning("%s: deleting it, it cannot replace the log %s", path, log.directory)
            self._discard(move)
            return
        logger.info("%s: resuming its move from %s to %s", tp, source.path, directory.path)
        self._waiting.append(move)

    def start(self, runner: MoveRunner) -> None:
        """Start the waiting moves. On the event loop."""
        self.runner = runner
        self._start_waiting()

    def stop(self) -> None:
        """Begin no further step. On the event loop."""
        self._stopped = True

    def close(self) -> list[LogDirectory]:
        """Flush and close the copies, which the next start resumes. Blocks.

        Returns the directories of copies that could not be closed cleanly.
        """
        unclean: list[LogDirectory] = []
        for move in self._table.all_moves():
            with move.lock:
                if not move.is_ended:
                    try:
                        move.future.flush(self._clock())
                        move.future.close()
                    except KafkaError as error:
                        logger.error("%s: the copy of its log is not closed cleanly: %s", move.topic_partition, error)
                        unclean.append(move.destination)
        return unclean

    def release(self) -> None:
        """Close the copies' files without writing anything."""
        for move in self._table.all_moves():
            move.future.close_files()

    def update_config(self, config: Config) -> None:
        """Use the rate limit of `config` from now on."""
        with self._throttle_lock:
            self._throttle.set_rate(_rate_of(config))

    # --- doing the moves: on the event loop, steps on threads ----------------------------------------------------

    def _enqueue(self, move: LogMove) -> None:
        if self.on_begin is not None:
            self.on_begin(move.topic_partition)
        self._waiting.append(move)
        self._start_waiting()

    def _start_waiting(self) -> None:
        while self._waiting and self._working < self._max_working and not self._stopped:
            self._working += 1
            self._go_on(self._waiting.popleft())

    def _go_on(self, move: LogMove) -> None:
        if self._stopped:
            return
        if self.runner is None:
            self._step(move)
        else:
            self.runner.submit(lambda: self._step(move))

    def _go_on_later(self, move: LogMove, delay_ms: int) -> None:
        if self.runner is None or self._stopped:
            return
        self.runner.later(delay_ms, lambda: self._go_on(move))

    def _step(self, move: LogMove) -> None:
        """On a thread for moves: copy for a while, then let the event loop decide how to continue."""
        try:
            wait_ms, has_caught_up = self._copy(move)
        except KafkaError as error:
            self._pool.post(self._failed, move, error)
        else:
            if has_caught_up:
                self._pool.post(self._finish, move)
            elif wait_ms:
                self._pool.post(self._go_on_later, move, wait_ms)
            else:
                self._pool.post(self._go_on, move)

    def _copy(self, move: LogMove) -> tuple[int, bool]:
        """Copy a piece; return (ms to wait for the rate limit, whether the copy has caught up)."""
        copied = 0
        while copied < _STEP_BYTES and not self._stopped:
            now_ms = self._clock()
            with self._throttle_lock:
                wait_ms, chunk_bytes = self._throttle.wait_ms(now_ms), self._throttle.chunk_bytes
            if wait_ms and move.lag:
                return wait_ms, False
            size = move.copy(chunk_bytes, now_ms)
            if size == 0:
                move.flush(now_ms)
                return 0, True
            with self._throttle_lock:
                self._throttle.spent(size, now_ms)
            copied += size
        return 0, False

    def _finish(self, move: LogMove) -> None:
        strand = self._table.strand(move.topic_partition)
        if move.is_ended or strand is None or strand.log is not move.log:
            self._ended(move)
            return
        strand.submit(lambda log: self._take_place(move), lambda result: self._finished(move, result))

    def _take_place(self, move: LogMove) -> bool:
        """Replace the log by its copy, on the log's strand. False when the move has ended or the copy is behind."""
        compacted = self._checkpoints.compacted_up_to(move.topic_partition)
        with move.lock:
            if move.is_ended or not move.catch_up(self._clock()):
                return False
            # A start after a crash must find the copy's log start and recovery point.
            if not self._checkpoints.write_offsets_of(move.destination):
                raise self._not_written(move)
            move.rename()
            with self._table.lock:  # a directory failure finds the log in exactly one directory
                is_there = move.destination.is_online
                if is_there:
                    move.log.adopt(move.future)
                    self._table.finish_move(move)
            if not is_there:
                move.undo_rename()
                raise KafkaStorageError(f"{move.topic_partition}: log directory {move.destination.path} is offline")
            move.finish()
        self._checkpoints.write_offsets_of(move.source)
        self._checkpoints.write_offsets_of(move.destination)
        if compacted is not None:
            self._checkpoints.forget_compacted(move.source, move.topic_partition)
            self._checkpoints.note_compacted(move.topic_partition, compacted)
        self._deletion.delete_directory_later(move.source, move.deleted_path, move.log.config.file_delete_delay_ms)
        logger.info("%s: moved from %s to %s", move.topic_partition, move.source.path, move.destination.path)
        return True

    def _not_written(self, move: LogMove) -> KafkaStorageError:
        kind = NoSpaceError if move.destination.is_online else KafkaStorageError
        return kind(f"{move.topic_partition}: not moved, the checkpoints of {move.destination.path} cannot be written")

    def _finished(self, move: LogMove, result: object) -> None:
        if isinstance(result, KafkaError):
            self._failed(move, result)
        elif result is False and not move.is_ended:
            self._go_on(move)
        else:
            self._ended(move)

    def _failed(self, move: LogMove, error: KafkaError) -> None:
        if isinstance(error, NoSpaceError):
            self._go_on_later(move, _RETRY_MS)
            return
        if not move.is_ended:
            logger.error(
                "%s: not moved to %s, it stays in %s: %s",
                move.topic_partition,
                move.destination.path,
                move.source.path,
                error,
            )
        self._ended(move)

    def _ended(self, move: LogMove) -> None:
        """Note that the move has ended, and start the next one."""
        self._working -= 1
        self._start_waiting()


def _rate_of(config: Config) -> int:
    return config.dynamic_int("replica.alter.log.dirs.io.max.bytes.per.second")


def threads_of(config: Config) -> int:
    """Return how many moves run at once: `num.replica.alter.log.dirs.threads`, or one for each log directory."""
    threads = config.optional_int("num.replica.alter.log.dirs.threads")
    return max(1, len(config.log_dirs) if threads is None else threads)


def _uuid_of(unique: str) -> uuid.UUID | None:
    """Parse the id in a directory name; None when neither pybroker nor Kafka made it."""
    try:
        return uuid.UUID(hex=unique)
    except ValueError:
        return None
