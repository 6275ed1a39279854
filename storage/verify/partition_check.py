"""The check of one partition's files, each alone and against the others. Reads once, in constant memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from typing import NamedTuple

from ...protocol.records.batch import RecordBatch
from ..files.checkpoint_file import CorruptCheckpointError, read_epochs
from ..files.files import Files
from ..files.partition_metadata import FILE_NAME as METADATA_FILE
from ..files.partition_metadata import CorruptPartitionMetadataError, read_topic_id
from ..leader_epochs import EpochEntry
from ..log.log_files import LEADER_EPOCH_FILE
from ..segment.index_reader import IndexReader
from ..segment.offset_index import MAX_RELATIVE_OFFSET
from ..segment.partition_files import PartitionFiles, SegmentFiles, read_partition_files
from ..segment.segment import INDEX_SUFFIX, SNAPSHOT_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX, file_name
from ..segment.segment_reader import SegmentReader, StoredBatch, Tail
from ..segment.transaction_index import AbortedTransaction, CorruptIndexError, TransactionIndex
from .batch_check import BatchFaults, batch_faults
from .epoch_check import EpochCheck
from .fault import Findings
from .index_files_check import OffsetIndexCheck, TimeIndexCheck
from .producer_check import ProducerCheck

_SINCE_TIME_INDEXES = (TIME_INDEX_SUFFIX, SNAPSHOT_SUFFIX)

Progress = Callable[[int], None]
"""Called with the number of further bytes that were checked."""


class LogEnds(NamedTuple):
    """The offsets of a log: [first_offset, end_offset). `end_offset` is None when damage hides it."""

    first_offset: int
    end_offset: int | None
    record_bytes: int


class PartitionCheck:
    """The check of one partition's directory.

    Args:
        files: opens the files.
        found: gets the faults.
        was_stopped_cleanly: no broker writes to the files or was interrupted. Otherwise the end of the last segment may
            be unfinished.
        with_records: check each record besides checksums and headers.
        faults_of: finds the faults of a batch on its own.
        log_start_offset: leader epochs below it are no longer known.
        progress: called with the checked bytes of `.log` files.
    """

    def __init__(
        self,
        files: Files,
        found: Findings,
        *,
        was_stopped_cleanly: bool,
        with_records: bool = True,
        faults_of: BatchFaults = batch_faults,
        log_start_offset: int = 0,
        progress: Progress = lambda _: None,
    ) -> None:
        self._files = files
        self._found = found
        self._was_stopped_cleanly = was_stopped_cleanly
        self._with_records = with_records
        self._faults_of = faults_of
        self._log_start_offset = log_start_offset
        self._progress = progress
        self._epochs = EpochCheck(found)
        self._may_lack_time_indexes = False
        self._next_offset = 0
        self._end_is_known = True

    def run(self, path: str) -> LogEnds:
        """Check everything in the directory. Raises OSError."""
        partition = read_partition_files(self._files, path)
        if not partition.segments:
            self._found.add(path, "has no segment")
            self._check_strays(partition)
            return LogEnds(0, None, 0)
        first_offset = self._next_offset = partition.segments[0].base_offset
        try:
            epochs_before = self._read_epochs(path)
        except CorruptCheckpointError:  # reported below
            epochs_before = None
        self._may_lack_time_indexes = self._is_older_than_time_indexes(path)
        producers = ProducerCheck(self._files, partition.snapshots, self._found)
        for segment, following in zip(partition.segments, (*partition.segments[1:], None), strict=True):
            self._check_segment(segment, following, producers)
        end_offset = self._next_offset if self._end_is_known else None
        producers.end(end_offset)
        self._check_epochs(path, epochs_before, max(self._log_start_offset, first_offset), end_offset)
        self._check_metadata(path)
        self._check_strays(partition)
        return LogEnds(first_offset, end_offset, _size_of(partition))

    def _check_strays(self, partition: PartitionFiles) -> None:
        """Report indexes without a segment. Checked last, because a running broker deletes a segment's .log first."""
        for stray in partition.stray_indexes:
            if self._files.exists(stray):
                self._found.add(stray, "belongs to no segment")

    # --- one segment --------------------------------------------------------------------------------------------

    def _check_segment(self, segment: SegmentFiles, following: SegmentFiles | None, producers: ProducerCheck) -> None:
        is_active = following is None
        may_be_unfinished = is_active and not self._was_stopped_cleanly
        if segment.base_offset > self._next_offset:
            producers.note_gap()
        last_allowed = segment.base_offset + MAX_RELATIVE_OFFSET
        if following is not None:
            last_allowed = min(last_allowed, following.base_offset - 1)
        with ExitStack() as opened:
            # The indexes first: what a running broker adds to them meanwhile is not looked at.
            offset_index, time_index = self._index_checks(segment, may_be_unfinished)
            try:
                reader = opened.enter_context(SegmentReader(self._files, segment.log_path))
            except FileNotFoundError:  # a running broker deleted it
                return
            self._next_offset = max(self._next_offset, segment.base_offset)
            for stored in reader.batches():
                self._check_batch(segment, stored, last_allowed, producers, offset_index, time_index)
            if reader.tail is not None:
                self._progress(reader.tail.size_bytes)
                self._check_tail(segment, reader.tail, is_active, may_be_unfinished)
            if reader.tail is None or reader.tail.is_unfinished:
                for check in (offset_index, time_index):
                    if check is not None:
                        check.end()
        self._check_transaction_index(segment, last_allowed, producers, may_be_unfinished)

    def _check_batch(
        self,
        segment: SegmentFiles,
        stored: StoredBatch,
        last_allowed: int,
        producers: ProducerCheck,
        offset_index: OffsetIndexCheck | None,
        time_index: TimeIndexCheck | None,
    ) -> None:
        position, batch = stored
        path, expected = segment.log_path, self._next_offset
        self._progress(batch.size_bytes)
        faults = list(self._faults_of(batch, with_records=self._with_records))
        for what in faults:
            self._found.add(path, what, position)
        first = _first_offset(batch, expected)
        last = batch.last_offset
        if first < expected or last < expected:
            what = f"offset {min(first, last)} follows, where {expected} or a later offset must"
            self._found.add(path, what, position)
        elif last > last_allowed:
            self._found.add(
                path, f"offset {last} is beyond {last_allowed}, the last offset that the segment can have", position
            )
        if first > expected:
            producers.note_gap()
        if not faults:
            producers.add_batch(batch)
        if batch.magic >= 2:
            self._epochs.add_batch(path, position, batch.partition_leader_epoch, first, last)
        if offset_index is not None:
            offset_index.add_batch(position, first, last, is_wrapper=batch.magic < 2 and batch.is_compressed)
        if time_index is not None:
            time_index.add_batch(first, last, batch.max_timestamp)
        self._next_offset = last + 1

    def _check_tail(self, segment: SegmentFiles, tail: Tail, is_active: bool, may_be_unfinished: bool) -> None:
        if not (tail.is_unfinished and may_be_unfinished):
            self._found.add(segment.log_path, f"{tail.size_bytes} bytes are not a batch: {tail.reason}", tail.position)
            self._end_is_known = self._end_is_known and not is_active

    # --- its indexes --------------------------------------------------------------------------------------------

    def _index_checks(
        self, segment: SegmentFiles, may_be_unfinished: bool
    ) -> tuple[OffsetIndexCheck | None, TimeIndexCheck | None]:
        """Return the checks of both indexes, None for a missing index."""
        offset_index = time_index = None
        reader = self._open_index(segment, INDEX_SUFFIX)
        if reader is not None:
            offset_index = OffsetIndexCheck(reader, self._found, may_be_unfinished=may_be_unfinished)
        reader = self._open_index(segment, TIME_INDEX_SUFFIX)
        if reader is not None:
            time_index = TimeIndexCheck(reader, self._found, may_be_unfinished=may_be_unfinished)
        return offset_index, time_index

    def _open_index(self, segment: SegmentFiles, suffix: str) -> IndexReader | None:
        """Open an index. An empty segment may have none, because Kafka creates indexes at the first append."""
        path = _beside(segment, suffix)
        try:
            return IndexReader(self._files, path, segment.base_offset)
        except FileNotFoundError:
            is_unknown = suffix == TIME_INDEX_SUFFIX and self._may_lack_time_indexes
            # A running broker that deletes a segment deletes its .log first.
            if segment.size_bytes and not is_unknown and self._files.exists(segment.log_path):
                self._found.add(path, "is missing")
            return None

    def _is_older_than_time_indexes(self, directory: str) -> bool:
        """Whether only Kafka 0.10.0 or older has written to the directory, which had no time indexes.

        Later versions also leave producer snapshots and leader epochs.
        """
        names = [entry.name for entry in self._files.list_directory(directory)]
        return LEADER_EPOCH_FILE not in names and not any(name.endswith(_SINCE_TIME_INDEXES) for name in names)

    def _check_transaction_index(
        self, segment: SegmentFiles, last_allowed: int, producers: ProducerCheck, may_be_unfinished: bool
    ) -> None:
        path = _beside(segment, TRANSACTION_INDEX_SUFFIX)
        if not self._files.exists(path):
            if self._files.exists(segment.log_path):
                producers.end_segment(path, None, may_be_unfinished=may_be_unfinished)
            else:  # a running broker deleted both files
                producers.skip_index()
            return
        try:
            entries: Iterable[AbortedTransaction] = TransactionIndex(self._files, path, exists=True).entries()
        except CorruptIndexError as error:
            self._found.add(path, str(error).removeprefix(f"{path} "))
            producers.skip_index()
            return
        except FileNotFoundError:  # a running broker deleted it
            producers.skip_index()
            return
        for entry in entries:
            if not segment.base_offset <= entry.last_offset <= last_allowed:
                self._found.add(path, f"offset {entry.last_offset} is not in the segment")
                producers.skip_index()
                return
        producers.end_segment(path, list(entries), may_be_unfinished=may_be_unfinished)

    # --- the partition's own files ------------------------------------------------------------------------------

    def _read_epochs(self, directory: str) -> list[EpochEntry] | None:
        """Return the entries, None when there is no checkpoint. Raises CorruptCheckpointError."""
        path = os.path.join(directory, LEADER_EPOCH_FILE)
        return read_epochs(self._files, path) if self._files.exists(path) else None

    def _check_epochs(
        self, directory: str, before: list[EpochEntry] | None, log_start: int, log_end: int | None
    ) -> None:
        """Check the epochs.

        A running broker may add some meanwhile. So the entries read `before` the batches are compared with the log end,
        and the batches with the entries read after them.
        """
        path = os.path.join(directory, LEADER_EPOCH_FILE)
        try:
            entries = self._read_epochs(directory)
        except CorruptCheckpointError as error:
            self._found.add(path, str(error).removeprefix(f"{path} "))
            return
        if entries and not self._was_stopped_cleanly:
            # A raised log start is in this file at once, but in its checkpoint up to a minute later.
            log_start = max(log_start, entries[0].start_offset)
        self._epochs.compare(path, entries, log_start)
        if before and log_end is not None and before[-1].start_offset > log_end:
            epoch, start_offset = before[-1]
            what = f"leader epoch {epoch} begins at offset {start_offset}, beyond the log end at {log_end}"
            self._found.add(path, what)

    def _check_metadata(self, directory: str) -> None:
        path = os.path.join(directory, METADATA_FILE)
        try:
            read_topic_id(self._files, path)
        except CorruptPartitionMetadataError as error:
            self._found.add(path, str(error).removeprefix(f"{path} "))


def _first_offset(batch: RecordBatch, expected: int) -> int:
    """Return the first offset. A compressed message of an old format has only its last one in the header, so it may
    begin as expected."""
    if batch.magic >= 2 or not batch.is_compressed:
        return batch.base_offset
    return min(expected, batch.last_offset)


def _beside(segment: SegmentFiles, suffix: str) -> str:
    return os.path.join(os.path.dirname(segment.log_path), file_name(segment.base_offset, suffix))


def _size_of(partition: PartitionFiles) -> int:
    return sum(segment.size_bytes for segment in partition.segments)
