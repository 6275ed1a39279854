"""One partition on its way into another log directory (KIP-113): copied while it is written to, then put in its place.

    topic-0                    the log that is served, in the directory it is in
    topic-0.<id>-future        its copy, in the directory it goes to

The copy follows the log as a replica does, batch by batch. Once it has caught up, a step on the log's strand copies
what is left, renames the log to `topic-0.<id>-delete`, its copy to `topic-0`, and has the log go on in the copy's
files. Each rename is durable before the next: a start that finds `-delete` and `-future` of one id, and no log, knows
that the second is missing. (Kafka renames in the other order; after a crash in between it finds the partition twice.)
When the copy's disk fails just then the log has its name back; `unfinished_move` says what becomes of the copy.
"""

from __future__ import annotations

import logging
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

logger = logging.getLogger(__name__)

_LAST_BYTES = 4 << 20
"""As much is copied on the strand at most, while appends wait."""
_SYNC_BYTES = 8 << 20
"""After so many, and at each new segment, what is copied is synced: a start after a crash goes on behind it."""


class LogMove:
    """The move of `log` from `source` to `destination`, where `future` is its copy. `unique` is the id in the names.

    All that touches files blocks, on any thread; `lock` is held by whoever works on the copy.
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
        """Done, given up, or lost with a directory. Set under the log table's lock."""
        self.is_done = False
        """The log lies where its copy lay."""
        self._truncations_seen: int | None = None
        self._unsynced_bytes = 0

    @property
    def topic_partition(self) -> TopicPartition:
        return self.log.topic_partition

    @property
    def lag(self) -> int:
        """How many offsets the copy is behind."""
        return max(0, self.log.log_end_offset - self.future.log_end_offset)

    @property
    def deleted_path(self) -> str:
        """What the log's directory is called once the copy has taken its place."""
        return os.path.join(self.source.path, deleted_directory_name(self.topic_partition, self.unique))

    # --- copying ------------------------------------------------------------------------------------------------

    def copy(self, max_bytes: int, now_ms: int) -> int:
        """Copy about `max_bytes` more, at least one batch; return the bytes copied: 0 when the copy has caught up.

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
        except OffsetOutOfRangeError:  # retention was faster, or a truncation: the next round starts from there
            return 1
        if read.region is None:  # what was behind is deleted or compacted away
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
        if copied == 0:  # the file became shorter under us
            raise KafkaStorageError(f"{self.topic_partition}: no whole batch at offset {next_offset}")
        return copied

    def flush(self, now_ms: int) -> None:
        """Sync what is copied, so that little is left to do when appends wait. Raises as `copy` does."""
        with self.lock:
            if not self.is_ended:
                self._flush(now_ms)

    def _flush(self, now_ms: int) -> None:
        self.future.flush(now_ms)
        self._unsynced_bytes = 0

    def _begin_with(self, data: bytes, now_ms: int) -> None:
        """What comes next is the batch that holds the log start offset, and nothing before it counts any more."""
        first = next(iter_batches(data), None)
        if first is not None and first.base_offset != self.future.log_end_offset:
            truncate_fully_and_start_at(self.future, min(first.base_offset, self.log.log_start_offset), now_ms)

    def _cut_to_common(self, now_ms: int) -> None:
        """Cut what the log does not have (any more) off the copy, by leader epochs (KIP-101).

        A copy that begins behind the log, after whatever befell it, is begun anew.
        """
        common = _common_end(self.log, self.future)
        if common is None or self.future.log_start_offset > self.log.log_start_offset:
            truncate_fully_and_start_at(self.future, self.log.log_start_offset, now_ms)
        elif common < self.future.log_end_offset:
            truncate_to(self.future, common, now_ms)

    # --- taking the log's place -----------------------------------------------------------------------------------

    # These three on the log's strand, with `lock` held.

    def catch_up(self, now_ms: int) -> bool:
        """Copy what is left, and sync it; False when that is too much. Raises as `copy` does."""
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
        """Give the copy the log's name. When its directory fails, the log keeps it. Raises KafkaStorageError."""
        self.future.files.mark_unfinished()
        self.log.rename_directory(self.deleted_path)
        try:
            self.future.rename_directory(os.path.join(self.destination.path, str(self.topic_partition)))
        except KafkaStorageError:
            self.undo_rename()
            raise

    def finish(self) -> None:
        """The log goes on where its copy lay. When that directory fails now, the log is lost with it."""
        with suppress(KafkaStorageError):
            self.log.files.mark_finished()

    def undo_rename(self) -> None:
        """The copy was lost: the log has its name again. Raises KafkaStorageError."""
        self.log.rename_directory(os.path.join(self.source.path, str(self.topic_partition)))


def _common_end(log: Log, future: Log) -> int | None:
    """Up to which offset both have the same records; None when that is not known."""
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
