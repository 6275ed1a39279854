"""One segment of a log: `<base offset>.log` and its indexes.

The last segment of a log is active: it takes appends, and its indexes are in memory. Only compaction and deletion
change the other segments. Every change runs on the log's strand; look-ups may run on any thread.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Sequence

from ...base.buffer import Buffer
from ...protocol.errors import CorruptRecordError
from ...protocol.records.batch import NO_TIMESTAMP
from ..files.files import File, Files, is_transient
from ..log_config import LogConfig
from .batch_span import BatchSpan, scan_spans
from .offset_index import MAX_RELATIVE_OFFSET, OffsetIndex
from .recent_batches import RecentBatches
from .time_index import TimeIndex, TimestampOffset
from .transaction_index import TransactionIndex

logger = logging.getLogger(__name__)

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
INDEX_SUFFIXES = (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
SNAPSHOT_SUFFIX = ".snapshot"
DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"


def file_name(offset: int, suffix: str) -> str:
    """Return Kafka's name of a segment file: the offset as 20 digits and a suffix."""
    return f"{offset:020d}{suffix}"


class Segment:
    """One segment and its files. Sizes are in bytes, timestamps in ms."""

    __slots__ = (
        "_bytes_since_index_entry",
        "_files",
        "_first_timestamp",
        "_has_wrong_entry",
        "_is_preallocated",
        "_max_timestamp",
        "base_offset",
        "created_ms",
        "directory",
        "index_interval_bytes",
        "log_ref",
        "name_suffix",
        "offset_index",
        "recent",
        "roll_jitter_ms",
        "size_bytes",
        "time_index",
        "transaction_index",
    )

    def __init__(
        self,
        files: Files,
        directory: str,
        base_offset: int,
        config: LogConfig,
        *,
        size_bytes: int = 0,
        created_ms: int,
        has_transaction_index: bool = False,
        name_suffix: str = "",
    ) -> None:
        """Open a closed segment over existing files; `create` makes a new one.

        `name_suffix` is appended to the names of its files: `.cleaned` while compaction writes them.
        """
        self._files = files
        self.name_suffix = name_suffix
        self.directory = directory
        self.base_offset = base_offset
        self.size_bytes = size_bytes
        self.created_ms = created_ms
        self.roll_jitter_ms = 0
        self.index_interval_bytes = config.index_interval_bytes
        self.log_ref = files.ref(self._path(LOG_SUFFIX))
        self.offset_index = OffsetIndex(files, self._path(INDEX_SUFFIX), base_offset, config.segment_index_bytes)
        self.time_index = TimeIndex(files, self._path(TIME_INDEX_SUFFIX), base_offset, config.segment_index_bytes)
        path = self._path(TRANSACTION_INDEX_SUFFIX)
        self.transaction_index = TransactionIndex(files, path, exists=has_transaction_index)
        self.recent: RecentBatches | None = None
        self._max_timestamp: TimestampOffset | None = None
        self._first_timestamp: int | None = None
        self._bytes_since_index_entry = 0
        self._is_preallocated = False
        self._has_wrong_entry = False

    @classmethod
    def create(
        cls,
        files: Files,
        directory: str,
        base_offset: int,
        config: LogConfig,
        now_ms: int,
        name_suffix: str = "",
    ) -> Segment:
        """Create the files of a new, active segment. Existing files of these names are emptied."""
        segment = cls(files, directory, base_offset, config, created_ms=now_ms, name_suffix=name_suffix)
        try:
            files.create_empty(segment.log_ref.path)
            if config.preallocate:
                files.preallocate(segment.log_ref.path, config.segment_bytes)
                segment._is_preallocated = True
            segment.offset_index.create()
            segment.time_index.create()
        except OSError as error:
            if is_transient(error):  # the log continues without it; a start must not find an empty segment
                for ref in (segment.offset_index.ref, segment.time_index.ref, segment.log_ref):
                    files.delete(ref.path)
            raise
        files.delete(segment.transaction_index.path)
        segment.recent = RecentBatches()
        segment._max_timestamp = TimestampOffset(NO_TIMESTAMP, base_offset)
        return segment

    def _path(self, suffix: str) -> str:
        return os.path.join(self.directory, file_name(self.base_offset, suffix) + self.name_suffix)

    # --- appending ----------------------------------------------------------------------------------------------

    def write(self, buffers: Sequence[Buffer]) -> None:
        """Write after the last known byte. After an OSError the file may be longer than `size_bytes`."""
        if len(buffers) == 1:
            self.log_ref.file().write_at(self.size_bytes, buffers[0])
        else:
            self.log_ref.file().write_vector_at(self.size_bytes, buffers)

    def note_append(self, size_bytes: int, last_offset: int, max_timestamp: int, offset_of_max: int) -> None:
        """Update sizes and timestamps for an append written at `size_bytes`; index it every `index.interval.bytes`.

        `offset_of_max` is the last offset of the batch that carries `max_timestamp`.
        """
        position = self.size_bytes
        if position == 0:
            self._first_timestamp = max_timestamp
        known_max = self.max_timestamp
        if max_timestamp > known_max.timestamp:
            known_max = self._max_timestamp = TimestampOffset(max_timestamp, offset_of_max)
        self.size_bytes = position + size_bytes
        pending = self._bytes_since_index_entry
        if pending > self.index_interval_bytes:
            self._bytes_since_index_entry = size_bytes
            self.add_index_entries(last_offset, position, known_max)
        else:
            self._bytes_since_index_entry = pending + size_bytes

    def add_index_entries(self, last_offset: int, position: int, max_timestamp: TimestampOffset) -> None:
        """Add index entries for the append at `position`. `max_timestamp` is the greatest one up to it."""
        for add, first, second in (
            (self.offset_index.append, last_offset, position),
            (self.time_index.maybe_append, max_timestamp.timestamp, max_timestamp.offset),
        ):
            try:
                add(first, second)
            except OSError as error:  # the entry stays in memory and is written with a later one
                if not is_transient(error):
                    raise

    def should_roll(
        self, config: LogConfig, size_bytes: int, max_timestamp: int, last_offset: int, now_ms: int
    ) -> bool:
        """Whether an append of that size, timestamp and last offset needs a new segment."""
        size = self.size_bytes
        if size > config.segment_bytes - size_bytes:
            return True
        if size:
            # The segment's age counts from its first timestamp if the records have any, else from its creation.
            first = self.first_timestamp
            age_ms = max_timestamp - first if first >= 0 else now_ms - self.created_ms
            if age_ms > config.max_segment_ms - self.roll_jitter_ms:
                return True
        return (
            last_offset - self.base_offset > MAX_RELATIVE_OFFSET or self.offset_index.is_full or self.time_index.is_full
        )

    @property
    def appends_left(self) -> int:
        """How many more appends fit if each adds an index entry."""
        return min(self.offset_index.entries_left, self.time_index.entries_left)

    def deactivate(self) -> None:
        """Close the segment for appends: write the last time index entry, truncate the files to their contents."""
        if self._is_preallocated:
            self.log_ref.file().truncate(self.size_bytes)
            self._is_preallocated = False
        self.transaction_index.write_pending()
        self._close_time_index()
        self.offset_index.deactivate()
        self.time_index.deactivate()

    def activate(self, *, now_ms: int) -> None:
        """Make this the active segment again (at a start, or after later segments were truncated)."""
        self.offset_index.activate()
        self.time_index.activate()
        self.recent = RecentBatches()
        if self.size_bytes == 0:
            self.created_ms = now_ms

    def _close_time_index(self) -> None:
        max_timestamp = self.max_timestamp
        if max_timestamp.timestamp > self.time_index.last().timestamp:
            self.time_index.activate()
            self.time_index.maybe_append(*max_timestamp)

    @property
    def max_timestamp(self) -> TimestampOffset:
        """The greatest timestamp, -1 for none, and the last offset of the batch that carries it."""
        known = self._max_timestamp
        if known is None:
            known = self._max_timestamp = self.time_index.last()
        return known

    @property
    def first_timestamp(self) -> int:
        """The max timestamp of the first append, as in Kafka; -1 for none.

        In a segment that existed at the start it is the max timestamp of the first batch.
        """
        first = self._first_timestamp
        if first is None:
            first = NO_TIMESTAMP
            for span in self.spans(0, self.size_bytes):
                first = self._first_timestamp = span.max_timestamp
                break
        return first

    def largest_timestamp(self) -> int:
        """Return the timestamp that retention uses: the greatest one, or without any the file's modification time."""
        timestamp = self.max_timestamp.timestamp
        return timestamp if timestamp >= 0 else self.modified_ms()

    def confirm_max_timestamp(self) -> bool:
        """Whether the batches confirm `max_timestamp`; if not, it is corrected from the batches.

        Called before deletions, because a crash may have torn the last entry of the time index. Costs one read when the
        entry is right, else a scan of all headers. Raises OSError, CorruptRecordError.
        """
        told = self.max_timestamp
        if told.timestamp >= 0 and self._position_of_time(told.offset, told.timestamp, self.size_bytes) is not None:
            return True
        largest = self._largest_from(0, TimestampOffset(NO_TIMESTAMP, self.base_offset))
        if largest.timestamp == told.timestamp:
            return True
        self._note_wrong_entry(self.time_index.path, told.offset)
        self.set_max_timestamp(largest)
        return False

    def modified_ms(self) -> int:
        return self._files.modified_ms(self.log_ref.path)

    def spans(self, position: int, end_position: int, *, cached_only: bool = False) -> Iterator[BatchSpan]:
        """Yield the batches from `position`, where a batch begins. The file is not opened for none."""
        if position >= end_position:
            return iter(())
        return scan_spans(self.log_ref.file(), position, end_position, cached_only=cached_only)

    def locate(self, offset: int, end_position: int, *, cached_only: bool = False) -> tuple[int, int] | None:
        """Return (position, size) of the first batch whose last offset is at or above `offset`, or None.

        With `cached_only` raises NotCachedError instead of waiting for the disk.
        """
        recent = self.recent
        if recent is not None:
            found = recent.locate(offset, end_position)
            if found is not None:
                return found
        position = self.offset_index.lookup(offset, cached_only=cached_only).position
        try:
            return self._reach(offset, position, end_position, cached_only)
        except CorruptRecordError:
            if position == 0:
                raise
        return self._reach_from_earlier(offset, end_position, cached_only)

    def _reach(self, offset: int, position: int, end_position: int, cached_only: bool) -> tuple[int, int] | None:
        """Do `locate` by a walk from `position`. Raises CorruptRecordError when that position must be wrong.

        An index entry for an offset at or below `offset` points to a batch that begins at or before `offset`, also
        after compaction. If the batch begins after `offset`, the walk has skipped the wanted batch.
        """
        if position < 0 or position >= self.size_bytes > 0:
            raise CorruptRecordError(f"position {position} is outside the file of {self.size_bytes} bytes")
        span = None
        for span in self.spans(position, end_position, cached_only=cached_only):
            if span.last_offset >= offset:
                if span.base_offset > offset and span.position == position > 0:
                    break
                return span.position, span.size_bytes
        else:
            if span is not None or position == 0 or position >= end_position:
                return None
        raise CorruptRecordError(f"no batch of an offset up to {offset} at byte {position}")

    def _reach_from_earlier(self, offset: int, end_position: int, cached_only: bool) -> tuple[int, int] | None:
        """Locate `offset` although an index entry is wrong: walk from earlier entries, finally from the file's start.

        Each attempt goes back twice as far, so even a wholly wrong index costs few attempts.
        """
        slot = self.offset_index.slot_at_or_below(offset - self.base_offset, cached_only=cached_only)
        step = 1
        while True:
            slot -= step
            step *= 2
            position = self.offset_index.entry(slot)[1] if slot >= 0 else 0
            try:
                found = self._reach(offset, position, end_position, cached_only)
            except CorruptRecordError:
                if slot < 0:
                    raise
                continue
            if found is not None:
                self._note_wrong_entry(self.offset_index.path, offset)
            return found

    def _note_wrong_entry(self, path: str, offset: int) -> None:
        if not self._has_wrong_entry:
            self._has_wrong_entry = True
            logger.warning(
                "%s has a wrong entry for offset %d: reading without it, to be rebuilt after the next clean stop",
                path,
                offset,
            )

    def position_for_time(self, timestamp: int, least_offset: int, end_position: int) -> int:
        """Return the position from which to search for the first record >= `timestamp` and >= `least_offset`."""
        index = self.time_index
        slot, step = index.slot_at_or_below(timestamp), 1
        while slot >= 0:
            value, relative = index.entry(slot)
            offset = self.base_offset + relative
            if offset <= least_offset:
                break
            start = self._position_of_time(offset, value, end_position)
            if start is not None:
                return start
            self._note_wrong_entry(index.path, offset)
            slot -= step
            step *= 2
        return self.position_of(least_offset, end_position)

    def _position_of_time(self, offset: int, timestamp: int, end_position: int) -> int | None:
        """Return the indexed position for `offset`; None when the batch with `offset` has another timestamp."""
        found = self.locate(offset, end_position)
        span = None if found is None else self._span_at(found[0], end_position)
        if span is None or span.max_timestamp != timestamp or (span.magic >= 2 and span.base_offset > offset):
            return None
        # Earlier batches of the same append may have the same timestamp: begin where the append begins.
        start = self.offset_index.lookup(offset).position
        first = self._span_at(start, end_position)
        return start if first is not None and first.base_offset <= offset else span.position

    def _span_at(self, position: int, end_position: int) -> BatchSpan | None:
        """Return the batch that begins at `position`, or None."""
        if position < 0:
            return None
        try:
            return next(self.spans(position, end_position), None)
        except CorruptRecordError:
            return None

    def position_of(self, offset: int, end_position: int, *, cached_only: bool = False) -> int:
        """Return the position of the first batch that does not end before `offset`, or `end_position`."""
        found = self.locate(offset, end_position, cached_only=cached_only)
        return end_position if found is None else found[0]

    def next_offset(self) -> int:
        """Return the offset after the last record, read from the file."""
        offset = self.base_offset
        for span in self.spans(self.offset_index.last().position, self.size_bytes):
            offset = span.last_offset + 1
        return offset

    # --- truncating and closing ------------------------------------------------------------------------------------

    def truncate_to(self, offset: int, *, now_ms: int) -> int:
        """Remove the batch that holds `offset` and all after it, and become active; return the removed bytes."""
        position = self.position_of(offset, self.size_bytes)
        self.offset_index.truncate_to(offset)
        self.time_index.truncate_to(offset)
        self.transaction_index.truncate_to(offset)
        removed = self.size_bytes - position
        if removed:
            self.log_ref.file().truncate(position)
            self.size_bytes = position
        self.activate(now_ms=now_ms)
        if position == 0:
            self._first_timestamp = None
        self._bytes_since_index_entry = 0
        self._max_timestamp = self.find_max_timestamp()
        return removed

    def find_max_timestamp(self) -> TimestampOffset:
        """Find the greatest timestamp from the time index and the batches after its last entry."""
        largest = self.time_index.last()
        return self._largest_from(self.offset_index.lookup(largest.offset).position, largest)

    def _largest_from(self, position: int, largest: TimestampOffset) -> TimestampOffset:
        """Return `largest`, or a greater timestamp among the batches from `position` on."""
        for span in self.spans(position, self.size_bytes):
            if span.max_timestamp > largest.timestamp:
                largest = TimestampOffset(span.max_timestamp, span.last_offset)
        return largest

    def restore_max_timestamp(self) -> None:
        """After a start, also read the batches after the last time index entry (Kafka adds one on closing)."""
        self._max_timestamp = self.find_max_timestamp()

    def set_max_timestamp(self, largest: TimestampOffset) -> None:
        """Set the greatest timestamp that a scan of all batches has found."""
        self._max_timestamp = largest

    def sync_targets(self) -> list[str | File]:
        """Return what to sync to make the segment durable: open files, and the path of the transaction index."""
        self.write_pending()
        targets: list[str | File] = [self.log_ref.file(), self.offset_index.ref.file(), self.time_index.ref.file()]
        if self.transaction_index.exists:
            targets.append(self.transaction_index.path)
        return targets

    def write_pending(self) -> None:
        """Write index entries that are only in memory. After an OSError they stay in memory.

        The transaction index comes first: a start notices when one of the other indexes is missing, and then rebuilds
        all of them.
        """
        self.transaction_index.write_pending()
        self.offset_index.write_pending()
        self.time_index.write_pending()

    @property
    def is_only_in_memory(self) -> bool:
        """An index is only in memory, because the disk is full (see `close_or_keep_in_memory`)."""
        return any(index.is_only_in_memory for index in (self.transaction_index, self.offset_index, self.time_index))

    def close_or_keep_in_memory(self) -> None:
        """Close the segment at a start. On a full disk its indexes stay in memory until they can be written.

        `write_pending` and `deactivate` try again. The next start rebuilds indexes that were never written.
        """
        try:
            self.deactivate()
        except OSError as error:
            if not is_transient(error):
                raise
            self.keep_in_memory()
        self.close_files()

    def keep_in_memory(self) -> None:
        """Keep the indexes only in memory, because they cannot be written now."""
        self.offset_index.keep_in_memory()
        self.time_index.keep_in_memory()

    def close(self) -> None:
        """Write the last index entries and close the files."""
        self.deactivate()
        self.close_files()

    def delete_wrong_indexes(self) -> None:
        """Delete indexes with a wrong entry, at a clean stop. The next start rebuilds missing indexes."""
        if self._has_wrong_entry:
            for index in (self.offset_index, self.time_index):
                self._files.delete(index.path)

    def reset_indexes(self) -> None:
        """Empty all indexes."""
        for index in (self.offset_index, self.time_index, self.transaction_index):
            index.reset()
        self._has_wrong_entry = False

    def close_files(self) -> None:
        """Close the files without writing anything."""
        for ref in (self.log_ref, self.offset_index.ref, self.time_index.ref):
            self._files.forget(ref)

    def move_to(self, directory: str) -> None:
        """Adjust all paths after the directory was renamed."""
        self.directory = directory
        for ref in (self.log_ref, self.offset_index.ref, self.time_index.ref):
            ref.path = os.path.join(directory, os.path.basename(ref.path))
        self.transaction_index.path = os.path.join(directory, os.path.basename(self.transaction_index.path))

    @property
    def paths(self) -> list[str]:
        """The current paths of its files."""
        paths = [self.log_ref.path, self.offset_index.path, self.time_index.path]
        return [*paths, self.transaction_index.path] if self.transaction_index.exists else paths

    def drop_swap_suffix(self) -> None:
        """Remove `.swap` from the file names. After an OSError some names may be unchanged; call again to continue."""
        for named in (self.log_ref, self.offset_index, self.time_index, self.transaction_index):
            path = named.path.removesuffix(SWAP_SUFFIX)
            if path == named.path:
                continue
            if named is not self.transaction_index or self.transaction_index.exists:
                self._files.rename(named.path, path)
            named.path = path

    def mark_deleted(self) -> list[str]:
        """Rename the files to `.deleted`; return the new paths. Readers that use the segment can go on reading.

        On a disk too full for the new names the files are deleted at once.
        """
        renamed = []
        for ref in (self.log_ref, self.offset_index.ref, self.time_index.ref):
            path = ref.path + DELETED_SUFFIX
            try:
                is_there = self._files.set_aside(ref.path, path)
            except FileNotFoundError:
                if ref is self.log_ref:
                    raise
                continue  # an index lost in a power failure
            if is_there:
                ref.path = path
                renamed.append(path)
        if self.transaction_index.exists:
            path = self.transaction_index.path + DELETED_SUFFIX
            try:
                is_there = self._files.set_aside(self.transaction_index.path, path)
            except FileNotFoundError:
                if not self.transaction_index.is_only_in_memory:
                    raise
                is_there = False
            if is_there:
                self.transaction_index.path = path
                renamed.append(path)
        return renamed

    def __repr__(self) -> str:
        return f"Segment(base_offset={self.base_offset}, size_bytes={self.size_bytes})"
