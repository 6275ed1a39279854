"""Compacts the closed segments of a log into `.cleaned` files beside them, which the broker then swaps in.

**How.** Two passes. The first reads the dirty part and notes the last offset of each key, until the map is full. The
second reads all segments up to there and writes what stays. Runs in a child process (`cleaner_process`) or inline.

**Limits.** It changes only `.cleaned` files, so it may be stopped anywhere.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator

from ...protocol.errors import CorruptRecordError
from ...protocol.records.batch import RecordBatch
from ..files.files import File, Files
from ..files.io_throttle import IoThrottle
from ..segment.batch_span import check_batch, read_batches
from ..segment.segment import CLEANED_SUFFIX, INDEX_SUFFIX, LOG_SUFFIX, TIME_INDEX_SUFFIX, Segment, file_name
from ..segment.transaction_index import AbortedTransaction
from .batch_compaction import BatchCompaction, KeptBatch
from .cleaned_transactions import CleanedTransactions
from .compaction_job import (
    CleanedGroup,
    CompactionDone,
    CompactionJob,
    CompactionReport,
    CompactionStatistics,
    SourceSegment,
)
from .offset_map import OffsetMap
from .segment_groups import SegmentSizes, group_segments

_WRITE_BYTES = 1 << 20


def compact(
    job: CompactionJob,
    files: Files,
    report: Callable[[CompactionReport], None],
    now_s: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> None:
    """Do the job. Calls `report` with each CleanedGroup, whose files are synced then, and finally with CompactionDone.

    Raises OSError, and CorruptRecordError or InvalidRecordError for unreadable batches.
    """
    _Compaction(job, files, report, now_s, IoThrottle(job.settings.max_bytes_per_s, now_s, pause)).run()


class _Compaction:
    def __init__(
        self,
        job: CompactionJob,
        files: Files,
        report: Callable[[CompactionReport], None],
        now_s: Callable[[], float],
        throttle: IoThrottle,
    ) -> None:
        self._job = job
        self._files = files
        self._report = report
        self._now_s = now_s
        self._throttle = throttle
        self._map = OffsetMap(job.settings.map_bytes, job.settings.load_factor)
        self._statistics = CompactionStatistics()
        self._transactions = CleanedTransactions()
        self._legacy_horizon_ms = self._find_legacy_horizon_ms()

    def run(self) -> None:
        started, statistics = self._now_s(), self._statistics
        self._fill_map()
        statistics.map_s = self._now_s() - started
        statistics.map_utilization = self._map.utilization
        end_offset = self._map.latest_offset + 1
        filter_batch = BatchCompaction(
            self._map, self._transactions, self._job.last_records, self._job.now_ms, self._job.delete_retention_ms
        )
        for group in self._groups(end_offset):
            self._report(self._clean(group, filter_batch))
        statistics.total_s = self._now_s() - started
        self._report(CompactionDone(end_offset, statistics))

    # --- the first pass -----------------------------------------------------------------------------------------

    def _fill_map(self) -> None:
        if not self._note_dirty_part():
            # More keys than fit into the dict: the part read so far is read again, which is less than all of the log.
            self._statistics.map_bytes = 0
            self._map.restart_as_table()
            self._note_dirty_part()

    def _note_dirty_part(self) -> bool:
        """Fill the map from the dirty part; False when it was full before the end."""
        job, transactions = self._job, CleanedTransactions()
        dirty = [segment for segment in job.segments if segment.end_offset > job.first_dirty_offset]
        transactions.expect(_touching(job.aborted, job.first_dirty_offset, job.segments[-1].end_offset))
        for segment in dirty:
            # Kafka starts at the first dirty offset by the index. Starting at the segment's beginning shows
            # transactions that began before that offset from their first batch.
            for batch in self._batches(segment):
                self._statistics.map_bytes += batch.size_bytes
                if batch.is_control:
                    transactions.on_control(batch)
                elif not transactions.on_data(batch) and batch.last_offset >= job.first_dirty_offset:
                    if not self._map.add(batch, job.first_dirty_offset):
                        return False
                    continue
                if batch.last_offset >= job.first_dirty_offset:
                    self._map.reach(batch.last_offset)
            self._map.reach(segment.end_offset - 1)  # offsets that earlier passes left empty
        return True

    # --- the second pass ----------------------------------------------------------------------------------------

    def _groups(self, end_offset: int) -> list[tuple[SegmentSizes, ...]]:
        job = self._job
        sizes = {entry.name: entry.size_bytes for entry in self._files.list_directory(job.directory)}
        segments = [
            SegmentSizes(
                *segment,
                sizes.get(file_name(segment.base_offset, INDEX_SUFFIX), 0),
                sizes.get(file_name(segment.base_offset, TIME_INDEX_SUFFIX), 0),
            )
            for segment in job.segments
            if segment.base_offset < end_offset
        ]
        return group_segments(segments, job.segment_bytes, job.segment_index_bytes)

    def _clean(self, group: tuple[SegmentSizes, ...], filter_batch: BatchCompaction) -> CleanedGroup:
        job, files = self._job, self._files
        cleaned = Segment.create(
            files, job.directory, group[0].base_offset, job.config, job.now_ms, name_suffix=CLEANED_SUFFIX
        )
        modified_ms = 0
        for source in group:
            modified_ms = files.modified_ms(self._path(source.base_offset))
            filter_batch.keeps_legacy_tombstones = modified_ms > self._legacy_horizon_ms
            self._transactions.expect(_touching(job.aborted, source.base_offset, source.end_offset))
            self._write(cleaned, self._kept(source, filter_batch))
        for transaction in self._transactions.retained:
            cleaned.transaction_index.append(transaction)
        self._transactions.retained.clear()
        cleaned.deactivate()
        for target in cleaned.sync_targets():
            if isinstance(target, File):
                target.sync()
            else:
                files.sync_path(target)
        cleaned.close_files()
        files.set_modified_ms(cleaned.log_ref.path, modified_ms)
        return CleanedGroup(
            tuple(source.base_offset for source in group), cleaned.size_bytes, cleaned.transaction_index.exists
        )

    def _kept(self, source: SegmentSizes, filter_batch: BatchCompaction) -> Iterator[KeptBatch]:
        statistics, keep = self._statistics, filter_batch.keep
        for batch in self._batches(source):
            kept = keep(batch)
            statistics.bytes_read += batch.size_bytes
            statistics.records_read += max(batch.record_count, 0)
            if kept is not None:
                statistics.records_written += kept.record_count
                statistics.bytes_written += len(kept.data)
                yield kept

    def _write(self, cleaned: Segment, batches: Iterable[KeptBatch]) -> None:
        pending: list[tuple[int, int, int]] = []
        data = bytearray()
        for batch in batches:
            # The bytes are copied: a view of a batch would hold all of the megabyte it was read with.
            data += batch.data
            pending.append((len(batch.data), batch.last_offset, batch.max_timestamp))
            if len(data) >= _WRITE_BYTES:
                self._write_out(cleaned, pending, data)
                pending, data = [], bytearray()
        self._write_out(cleaned, pending, data)

    def _write_out(self, cleaned: Segment, batches: list[tuple[int, int, int]], data: bytearray) -> None:
        if data:
            cleaned.write([data])
            for size_bytes, last_offset, max_timestamp in batches:
                cleaned.note_append(size_bytes, last_offset, max_timestamp, last_offset)
            self._throttle.spend(len(data))

    # --- reading ------------------------------------------------------------------------------------------------

    def _batches(self, segment: SourceSegment | SegmentSizes) -> Iterator[RecordBatch]:
        """All batches of a segment, checked: a damaged batch must neither be rewritten as valid nor be left out."""
        path = self._path(segment.base_offset)
        next_offset = segment.base_offset
        file = self._files.open(path)
        end = spent = 0
        try:
            for position, batch in read_batches(file, 0, segment.size_bytes):
                check_batch(batch)
                # The checksum does not cover the base offset.
                if batch.base_offset < next_offset or batch.last_offset >= segment.end_offset:
                    raise CorruptRecordError(f"offset {batch.base_offset} where {next_offset} is next")
                next_offset = batch.last_offset + 1
                end = position + batch.size_bytes
                if end - spent >= _WRITE_BYTES:
                    self._throttle.spend(end - spent)
                    spent = end
                yield batch
            self._throttle.spend(end - spent)
        except CorruptRecordError as error:
            raise CorruptRecordError(f"{path} behind byte {end}: {error}") from error
        finally:
            file.close()
        if end != segment.size_bytes:
            raise CorruptRecordError(f"{path} has an incomplete batch at byte {end}")

    def _path(self, base_offset: int) -> str:
        return os.path.join(self._job.directory, file_name(base_offset, LOG_SUFFIX))

    def _find_legacy_horizon_ms(self) -> int:
        """Segments last written before this lose tombstones of magic 0 and 1: `delete.retention.ms` before the last
        compacted segment was written."""
        job = self._job
        compacted = [segment for segment in job.segments if segment.base_offset < job.first_dirty_offset]
        if not compacted:
            return 0
        return self._files.modified_ms(self._path(compacted[-1].base_offset)) - job.delete_retention_ms


def _touching(aborted: Iterable[AbortedTransaction], start_offset: int, end_offset: int) -> list[AbortedTransaction]:
    return [each for each in aborted if each.last_offset >= start_offset and each.first_offset < end_offset]
