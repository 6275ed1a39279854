"""The move of one log to another log directory (KIP-113): the log is copied while it takes appends, then replaced.

topic-0                    the log, in its present directory
topic-0.<id>-future        its copy, in the destination
"""

# How: the copy follows the log batch by batch, like a replica. When it has caught up, a step on the log's strand copies
# the rest, renames the log to `topic-0.<id>-delete` and the copy to `topic-0`, and the log continues in the copy's
# files. Each rename is durable before the next. A start that finds `-delete` and `-future` with the same id but no log
# finishes the second rename. (Kafka renames in the other order, and after a crash in between finds the partition
# twice.) If the copy's disk fails in between, the log gets its name back; `unfinished_move` handles the copy.

from __future__ import annotations

import os
import threading
import uuid
from contextlib import suppress

from ...base.topic_partition import TopicPartition, deleted_directory_name
from ...protocol.errors import KafkaStorageError, OffsetOutOfRangeError
from ...protocol.records.batch import iter_batches
from ..errors import UnexpectedAppendOffsetError
from ..log.log import Log
from ..log.log_truncation import truncate_fully_and_start_at, truncate_to
from .log_directory import LogDirectory

_LAST_BYTES = 4 << 20
"""Most bytes copied on the strand, while appends wait."""
_SYNC_BYTES = 8 << 20
"""The copy is synced after so many bytes and at each new segment. A start after a crash continues from there."""


class LogMove:
    """The move of `log` from `source` to `destination`, where `future` is its copy. `unique` is the id in the names.

    Methods that use files block, on any thread. A thread that works on the copy holds `lock`.
    """

    def __init__(
        self, log: Log, future: Log, source: LogDirectory, destination: LogDirectory, unique: uuid.UUID
    ) -> None:
        self.log = log
        self.future = future
        self.source = source
        self.destination = destination
        self.unique = unique
        self.lock = threading.Lock()
        self.is_ended = False
        """The move is done, was cancelled, or was lost with a directory. Set under the log table's lock."""
        self.is_done = False
        """The log is in the destination now."""
        self._truncations_seen: int | None = None
        self._unsynced_bytes = 0

    @property
    def topic_partition(self) -> TopicPartition:
        return self.log.topic_partition

    @property
    def lag(self) -> int:
        """How many offsets the copy is behind the log."""
        return max(0, self.log.log_end_offset - self.future.log_end_offset)

    @property
    def deleted_path(self) -> str:
        """The path to which the log's old directory is renamed."""
        return os.path.join(self.source.path, deleted_directory_name(self.topic_partition, self.unique))

    # --- copying ------------------------------------------------------------------------------------------------

    def copy(self, max_bytes: int, now_ms: int) -> int:
        """Copy about `max_bytes` more, at least one batch; return the copied bytes, 0 when the copy has caught up.

        Raises KafkaStorageError (NoSpaceError: it may work later), CorruptRecordError.
        """
        with self.lock:
            if self.is_ended:
                return 0
            active = self.future.segments[-1]
            copied = self._copy(max_bytes, now_ms)
            self._unsynced_bytes += copied
            if self._unsynced_bytes >= _SYNC_BYTES or self.future.segments[-1] is not active:
                self._flush(now_ms)
            return copied

    def _copy(self, max_bytes: int, now_ms: int) -> int:
        log, future = self.log, self.future
        if future.config is not log.config:
            future.update_config(log.config)
        truncations = log.truncation_count
        if truncations != self._truncations_seen:
            self._cut_to_common(now_ms)
            self._truncations_seen = truncations
        next_offset, start_offset, end_offset = future.log_end_offset, log.log_start_offset, log.log_end_offset
        if next_offset >= end_offset:
            return 0
        try:
            read = log.read(max(next_offset, start_offset), max_bytes, end_offset, True)
        except OffsetOutOfRangeError:  # retention or a truncation came in between: the next call starts from there
            return 1
        if read.region is None:  # the remaining records were deleted or compacted away
            future.skip_to(end_offset, now_ms)
            return 0
        data = log.read_region(read.region)
        if next_offset < start_offset:
            self._begin_with(data, now_ms)
        try:
            copied = future.append_as_follower(data, now_ms).size_bytes
        except UnexpectedAppendOffsetError as error:  # the copy ends inside this batch
            truncate_to(future, error.first_offset, now_ms)
            return 1
        if copied == 0:  # the file was truncated during the read
            raise KafkaStorageError(f"{self.topic_partition}: the copy found no whole batch at offset {next_offset}")
        return copied

    def flush(self, now_ms: int) -> None:
        """Sync the copied batches, so that little is left to do while appends wait. Raises as `copy` does."""
        with self.lock:
            if not self.is_ended:
                self._flush(now_ms)

    def _flush(self, now_ms: int) -> None:
        self.future.flush(now_ms)
        self._unsynced_bytes = 0

    def _begin_with(self, data: bytes, now_ms: int) -> None:
        """Empty the copy when the next batch does not follow its end: the log start offset has passed that end."""
        first = next(iter_batches(data), None)
        if first is not None and first.base_offset != self.future.log_end_offset:
            truncate_fully_and_start_at(self.future, min(first.base_offset, self.log.log_start_offset), now_ms)

    def _cut_to_common(self, now_ms: int) -> None:
        """Truncate the copy to the records that the log has, by leader epochs (KIP-101).

        A copy that begins after the log's start is emptied.
        """
        common = _common_end(self.log, self.future)
        if common is None or self.future.log_start_offset > self.log.log_start_offset:
            truncate_fully_and_start_at(self.future, self.log.log_start_offset, now_ms)
        elif common < self.future.log_end_offset:
            truncate_to(self.future, common, now_ms)

    # --- replacing the log ----------------------------------------------------------------------------------------

    # The first three run on the log's strand, with `lock` held.

    def catch_up(self, now_ms: int) -> bool:
        """Copy and sync the rest; False when it is too much to do while appends wait. Raises as `copy` does."""
        log, future = self.log, self.future
        if self.lag and log.bytes_between(future.log_end_offset, log.log_end_offset) > _LAST_BYTES:
            return False
        while self._copy(_LAST_BYTES, now_ms):
            pass
        future.increment_log_start_offset(log.log_start_offset)
        future.flush(now_ms)
        future.inherit(log)
        return True

    def rename(self) -> None:
        """Rename the log and its copy. When the copy's directory fails, the log gets its name back.

        Raises KafkaStorageError.
        """
        self.future.files.mark_unfinished()
        self.log.rename_directory(self.deleted_path)
        try:
            self.future.rename_directory(os.path.join(self.destination.path, str(self.topic_partition)))
        except KafkaStorageError:
            self.undo_rename()
            raise

    def finish(self) -> None:
        """Remove the mark of the copy, whose files the log uses now. If its directory fails, the log fails with it."""
        with suppress(KafkaStorageError):
            self.log.files.mark_finished()

    def undo_rename(self) -> None:
        """Give the log its name back, after the copy was lost. Raises KafkaStorageError."""
        self.log.rename_directory(os.path.join(self.source.path, str(self.topic_partition)))


def _common_end(log: Log, future: Log) -> int | None:
    """Return the offset up to which both logs have the same records; None when not known."""
    epoch = future.latest_epoch
    while epoch is not None:
        ours = log.end_offset_for_epoch(epoch)
        if ours is None:
            return None
        theirs = future.end_offset_for_epoch(ours.epoch)
        if theirs is None:
            return None
        if theirs.epoch == ours.epoch:
            return min(ours.start_offset, theirs.start_offset)
        epoch = theirs.epoch
    return None
