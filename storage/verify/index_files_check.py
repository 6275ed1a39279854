"""The check of index files: does each entry point to what is in the log? Takes one walk over the batches.

How: index entries and batches are sorted alike, so the walk reads both side by side.
An entry of the offset index has the position where an append begins and the append's last offset (its first one before
Kafka 2.0). An append of a follower may have many batches. So an entry is right when a batch begins at its position, and
that batch begins with the entry's offset, or it or a later one ends with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ..segment.index_reader import IndexReader
from ..segment.offset_index import OffsetIndex, OffsetPosition
from ..segment.time_index import TimeIndex, TimestampOffset
from .fault import Findings


class OffsetIndexCheck:
    """The check of one `.index`. Takes the segment's batches in order."""

    def __init__(self, reader: IndexReader, found: Findings, *, may_be_unfinished: bool) -> None:
        self._path = reader.path
        self._found = found
        self._reader = reader
        self._entries = self._checked_entries(may_be_unfinished)
        self._next = next(self._entries, None)
        self._begun: deque[OffsetPosition] = deque()
        """Entries with a right position, until a batch ends with their offset."""

    def add_batch(self, position: int, first_offset: int, last_offset: int, *, is_wrapper: bool = False) -> None:
        """Take the next batch. The true first offset of a wrapper (magic 0 and 1) may be above `first_offset`."""
        while self._next is not None and self._next.position <= position:
            entry = self._next
            if entry.position < position:
                self._fault(entry, "where no batch begins")
            elif entry.offset < first_offset:
                self._fault(entry, f"where offset {first_offset} begins")
            elif entry.offset != first_offset and not (is_wrapper and entry.offset <= last_offset):
                self._begun.append(entry)
            self._next = next(self._entries, None)
        while self._begun and self._begun[0].offset <= last_offset:
            entry = self._begun.popleft()
            if entry.offset != last_offset:
                self._fault(entry, f"but it lies inside the batch that ends with {last_offset}")

    def end(self) -> None:
        """Report the entries left over after all batches."""
        for entry in self._begun:
            self._fault(entry, "but no batch ends with it")
        while self._next is not None:
            self._fault(self._next, "after the last batch")
            self._next = next(self._entries, None)
        self._reader.close()

    def _fault(self, entry: OffsetPosition, what: str) -> None:
        self._found.add(self._path, f"an entry points offset {entry.offset} at byte {entry.position}, {what}")

    def _checked_entries(self, may_be_unfinished: bool) -> Iterator[OffsetPosition]:
        """Yield the entries up to the first one that is out of order or all zeros."""
        _check_size(self._reader, OffsetIndex.layout.size, self._found, may_be_unfinished)
        previous = OffsetPosition(self._reader.base_offset - 1, -1)
        for number, entry in enumerate(self._reader.offset_positions()):
            where = number * OffsetIndex.layout.size
            if entry == (self._reader.base_offset, 0):
                if not may_be_unfinished:
                    self._found.add(self._path, "zeros instead of entries", where)
                return
            if entry.offset <= previous.offset or entry.position <= previous.position:
                what = f"offset {entry.offset} at byte {entry.position} after {previous.offset} at {previous.position}"
                self._found.add(self._path, f"entries are out of order: {what}", where)
                return
            previous = entry
            yield entry


class TimeIndexCheck:
    """The check of one `.timeindex`. Takes the segment's batches in order."""

    def __init__(self, reader: IndexReader, found: Findings, *, may_be_unfinished: bool) -> None:
        self._path = reader.path
        self._found = found
        self._reader = reader
        self._entries = self._checked_entries(may_be_unfinished)
        self._next = next(self._entries, None)
        self._greatest = -1

    def add_batch(self, first_offset: int, last_offset: int, max_timestamp: int) -> None:
        """Take the next batch. For magic 0 and 1 `first_offset` may be too low."""
        self._greatest = max(self._greatest, max_timestamp)
        while self._next is not None and self._next.offset <= last_offset:
            timestamp, offset = self._next
            if offset < first_offset:
                self._fault(self._next, "no batch has that offset")
            elif timestamp != max_timestamp:
                self._fault(self._next, f"its batch has {max_timestamp}")
            elif timestamp < self._greatest:
                self._fault(self._next, f"{self._greatest} lies before it")
            self._next = next(self._entries, None)

    def end(self) -> None:
        """Report the entries left over after all batches."""
        while self._next is not None:
            self._fault(self._next, "the segment ends before it")
            self._next = next(self._entries, None)
        self._reader.close()

    def _fault(self, entry: TimestampOffset, what: str) -> None:
        self._found.add(self._path, f"an entry gives offset {entry.offset} the time {entry.timestamp}, {what}")

    def _checked_entries(self, may_be_unfinished: bool) -> Iterator[TimestampOffset]:
        """Yield the entries up to the first one that is out of order or all zeros."""
        _check_size(self._reader, TimeIndex.layout.size, self._found, may_be_unfinished)
        previous = TimestampOffset(-1, self._reader.base_offset)
        for number, entry in enumerate(self._reader.timestamp_offsets()):
            where = number * TimeIndex.layout.size
            if entry == (0, self._reader.base_offset) and (number or may_be_unfinished):
                if not may_be_unfinished:
                    self._found.add(self._path, "zeros instead of entries", where)
                return
            if entry.timestamp <= previous.timestamp or entry.offset < previous.offset:
                what = f"{entry.timestamp} of offset {entry.offset} after {previous.timestamp} of {previous.offset}"
                self._found.add(self._path, f"entries are out of order: {what}", where)
                return
            previous = entry
            yield entry


def _check_size(reader: IndexReader, entry_bytes: int, found: Findings, may_be_unfinished: bool) -> None:
    surplus = reader.size_bytes % entry_bytes
    if surplus and not may_be_unfinished:
        found.add(reader.path, f"{surplus} bytes after the last entry", reader.size_bytes - surplus)
