"""Reads the rows of one segment file."""

from __future__ import annotations

from collections.abc import Iterator

from ...client.fetching.transaction_filter import TransactionFilter
from ...protocol.errors import CorruptRecordError, InvalidRecordError, UnsupportedCompressionTypeError
from ...storage.files.files import Files
from ...storage.segment.segment_reader import SegmentReader, StoredBatch
from ..columns.batch_decoder import BatchDecoder
from ..columns.row_buffers import Gathered
from ..options.data_loss import DataLoss
from ..options.log_options import LogOptions
from .log_segments import SegmentTask


class SegmentRows:
    """Reads one segment, once. Memory: one batch and one set of columns."""

    def __init__(self, task: SegmentTask, options: LogOptions) -> None:
        self._task = task
        self._data_loss = DataLoss(options.fail_on_data_loss)
        self._committed_only = options.committed_only
        self._decoder = BatchDecoder(
            task.start, task.end, with_headers=options.include_headers, check_crcs=options.check_crcs
        )

    def read(self) -> Iterator[Gathered]:
        """Yields the rows in file order. Raises OSError, DataLossError."""
        task = self._task
        try:
            reader = SegmentReader(Files(), task.path, max_bytes=task.size_bytes)
        except FileNotFoundError:
            self._data_loss.report(f"{task.path} was deleted before it was read")
            return
        hidden = TransactionFilter(task.aborted)
        with reader:
            for stored in reader.batches():
                if stored.batch.base_offset >= task.end and stored.batch.magic == 2:
                    break
                if not self._committed_only or not hidden.hides(stored.batch):
                    yield from self._rows_of(stored)
            self._look_at_tail(reader)
        yield from self._decoder.rest()

    def _rows_of(self, stored: StoredBatch) -> Iterator[Gathered]:
        try:
            yield from self._decoder.add(stored.batch, stored.position)
        except (CorruptRecordError, InvalidRecordError, UnsupportedCompressionTypeError) as error:
            self._data_loss.report(f"{self._task.path}, position {stored.position}: {error}")

    def _look_at_tail(self, reader: SegmentReader) -> None:
        """Reports an incomplete end of the file, unless the segment is the last: a write to it may be under way."""
        tail = reader.tail
        if tail is not None and not (self._task.is_last and tail.is_unfinished):
            self._data_loss.report(f"{reader.path}, position {tail.position}: {tail.reason}")
