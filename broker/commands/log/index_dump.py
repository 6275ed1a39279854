"""Prints indexes as Kafka's DumpLogSegments does, and compares each entry with the batches of the log."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from ....protocol.errors import CorruptRecordError
from ....protocol.records.batch import HEADER_SIZE_V2, RecordBatch, read_header
from ....storage.files.files import Files
from ....storage.segment.index_reader import IndexReader
from ....storage.segment.offset_index import OffsetIndex
from ....storage.segment.segment import LOG_SUFFIX, TIME_INDEX_SUFFIX
from ....storage.segment.segment_reader import SegmentReader, base_offset_of
from ....storage.segment.time_index import TimeIndex, TimestampOffset
from .block_output import BlockOutput

__all__ = ["IndexDump", "IndexDumpOptions"]

_NOT_FOUND = -1


class IndexDumpOptions(NamedTuple):
    """``checks_only``: only say whether the index passes a broker's check. ``is_silent``: print no entries."""

    checks_only: bool
    is_silent: bool
    max_batch_bytes: int


class _Faults(NamedTuple):
    """Faults by file, as pairs of numbers."""

    offsets: dict[str, list[tuple[int, int]]]
    timestamps: dict[str, list[tuple[int, int]]]
    order: dict[str, list[tuple[int, int]]]
    missing: dict[str, list[tuple[int, int]]]


class IndexDump:
    """`has_failed`: whether an index could not be read."""

    def __init__(self, files: Files, output: BlockOutput, options: IndexDumpOptions) -> None:
        self._files = files
        self._output = output
        self._options = options
        self._faults = _Faults({}, {}, {}, {})
        self.has_failed = False

    def dump(self, path: str) -> None:
        """Print an ``.index`` or a ``.timeindex``. Raises OSError."""
        self._output.line(f"Dumping {path}")
        base_offset = base_offset_of(path) or 0
        log = os.path.join(os.path.dirname(path), os.path.basename(path).partition(".")[0] + LOG_SUFFIX)
        reader = IndexReader(self._files, path, base_offset)
        try:
            with SegmentReader(self._files, log) as segment:
                if path.endswith(TIME_INDEX_SUFFIX):
                    self._dump_times(reader, segment)
                else:
                    self._dump_positions(reader, segment)
        finally:
            reader.close()

    def tell_faults(self) -> None:
        """Print the entries that do not fit their logs."""
        tell = self._output.error
        for path, found in self._faults.offsets.items():
            tell(f"Mismatches in :{path}")
            for entry, batch in found:
                tell(f"  Index offset: {entry}, log offset: {batch}")
        for path, found in self._faults.timestamps.items():
            tell(f"Found timestamp mismatch in :{path}")
            for entry, batch in found:
                tell(f"  Index timestamp: {entry}, log timestamp: {batch}")
        for path, found in self._faults.order.items():
            tell(f"Found out of order timestamp in :{path}")
            for entry, previous in found:
                tell(f"  Index timestamp: {entry}, Previously indexed timestamp: {previous}")
        for found in self._faults.missing.values():
            tell("The following indexed offsets are not found in the log.")
            for entry, batch in found:
                tell(f"Indexed offset: {entry}, found log offset: {batch}")

    def _dump_positions(self, reader: IndexReader, segment: SegmentReader) -> None:
        if reader.size_bytes < OffsetIndex.layout.size:
            self._output.line(f"{reader.path} is empty.")
            return
        if self._options.checks_only:
            self._check(reader, OffsetIndex.layout.size)
            return
        path = os.path.abspath(reader.path)
        for number, entry in enumerate(reader.offset_positions()):
            if entry.offset == reader.base_offset and number:
                return  # Kafka preallocates the file: only zeros follow
            batch = _batch_at(segment, entry.position)
            last_offset = _NOT_FOUND if batch is None else batch.last_offset
            if batch is not None and batch.size_bytes > self._options.max_batch_bytes:
                self._fail(f"{segment.path}: the batch at byte {entry.position} is above --max-message-size")
                return
            if last_offset != entry.offset:
                self._faults.offsets.setdefault(path, []).insert(0, (entry.offset, last_offset))
            if not self._options.is_silent:
                self._output.line(f"offset: {entry.offset} position: {entry.position}")

    def _dump_times(self, reader: IndexReader, segment: SegmentReader) -> None:
        if self._options.checks_only:
            self._check(reader, TimeIndex.layout.size)
            return
        batches = (stored.batch for stored in segment.headers())
        batch = next(batches, None)
        previous = -1
        for number, entry in enumerate(reader.timestamp_offsets()):
            if entry.offset == reader.base_offset and number:
                return
            while batch is not None and batch.last_offset < entry.offset:
                batch = next(batches, None)
            self._compare(os.path.abspath(reader.path), entry, batch, previous)
            if not self._options.is_silent:
                self._output.line(f"timestamp: {entry.timestamp} offset: {entry.offset}")
            previous = entry.timestamp

    def _compare(self, path: str, entry: TimestampOffset, batch: RecordBatch | None, previous: int) -> None:
        if batch is None or batch.last_offset != entry.offset:
            found = _NOT_FOUND if batch is None else batch.last_offset
            self._faults.missing.setdefault(path, []).append((entry.offset, found))
            return
        if batch.max_timestamp != entry.timestamp:
            self._faults.timestamps.setdefault(path, []).append((entry.timestamp, batch.max_timestamp))
        if previous >= entry.timestamp:
            self._faults.order.setdefault(path, []).append((entry.timestamp, previous))

    def _check(self, reader: IndexReader, entry_bytes: int) -> None:
        """Whether the file has whole entries, and the last one is not below the first offset."""
        offsets: Iterator[int] = (
            (entry.offset for entry in reader.timestamp_offsets())
            if reader.path.endswith(TIME_INDEX_SUFFIX)
            else (entry.offset for entry in reader.offset_positions())
        )
        if reader.size_bytes % entry_bytes:
            self._fail(f"{reader.path}: {reader.size_bytes} bytes are no whole number of entries")
        elif any(offset < reader.base_offset for offset in offsets):
            self._fail(f"{reader.path}: an entry is below the first offset {reader.base_offset}")
        else:
            self._output.line(f"{reader.path} passed sanity check.")

    def _fail(self, text: str) -> None:
        self.has_failed = True
        self._output.error(text)


def _batch_at(segment: SegmentReader, position: int) -> RecordBatch | None:
    """The header of the batch at this place; None when there is none."""
    data = segment.read(position, HEADER_SIZE_V2)
    try:
        return read_header(data, 0, len(data))
    except CorruptRecordError:
        return None
