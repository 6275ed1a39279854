"""Whether index entries point at what is in the log, found out in one walk over the batches.

The entries of an index and the batches of its segment rise alike, so each check holds the entries that the walk is just
at. An entry of the offset index has the position where an append began and the last offset of that append, which a
follower's may bring many batches at once: it is right when a batch begins there, starts no later than the offset, and
some batch from there on ends with it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from ..segment.index_reader import IndexReader
from ..segment.offset_index import OffsetIndex, OffsetPosition
from ..segment.time_index import TimeIndex, TimestampOffset
from .fault import Findings


class OffsetIndexCheck:
    """Of one `.index`; fed with the segment's batches in order."""

    def __init__(self, reader: IndexReader, found: Findings, *, may_be_unfinished: bool) -> None:
        self._path = reader.path
        self._found = found
        self._reader = reader
        self._entries = self._checked_entries(may_be_unfinished)
        self._next = next(self._entries, None)
        self._begun: deque[OffsetPosition] = deque()
        """Entries whose position was right, until a batch ends with their offset."""

    def see(self, position: int, first_offset: int, last_offset: int) -> None:
        """The next batch; of magic 0 and 1 `first_offset` may be lower than it is."""
        while self._next is not None and self._next.position <= position:
            entry = self._next
            if entry.position < position:
                self._fault(entry, "where no batch begins")
            elif entry.offset < first_offset:
                self._fault(entry, f"where offset {first_offset} begins")
            else:
                self._begun.append(entry)
            self._next = next(self._entries, None)
        while self._begun and self._begun[0].offset <= last_offset:
            entry = self._begun.popleft()
            if entry.offset != last_offset:
                self._fault(entry, f"but it lies inside the batch that ends with {last_offset}")

    def end(self) -> None:
        """All batches were seen."""
        for entry in self._begun:
            self._fault(entry, "but no batch ends with it")
        while self._next is not None:
            self._fault(self._next, "behind the last batch")
            self._next = next(self._entries, None)
        self._reader.close()

    def _fault(self, entry: OffsetPosition, what: str) -> None:
        self._found.add(self._path, f"an entry points offset {entry.offset} at byte {entry.position}, {what}")

    def _checked_entries(self, may_be_unfinished: bool) -> Iterator[OffsetPosition]:
        """The entries up to the first that is out of order or nothing but zeros."""
        _check_size(self._reader, OffsetIndex.layout.size, self._found, may_be_unfinished)
        previous = OffsetPosition(self._reader.base_offset - 1, -1)
        for number, entry in enumerate(self._reader.offset_positions()):
            where = number * OffsetIndex.layout.size
            if entry == (self._reader.base_offset, 0):
                if not may_be_unfinished:
                    self._found.add(self._path, "zeros in place of entries", where)
                return
            if entry.offset <= previous.offset or entry.position <= previous.position:
                what = f"offset {entry.offset} at byte {entry.position} behind {previous.offset} at {previous.position}"
                self._found.add(self._path, f"entries are out of order: {what}", where)
                return
            previous = entry
            yield entry


class TimeIndexCheck:
    """Of one `.timeindex`; fed with the segment's batches in order."""

    def __init__(self, reader: IndexReader, found: Findings, *, may_be_unfinished: bool) -> None:
        self._path = reader.path
        self._found = found
        self._reader = reader
        self._entries = self._checked_entries(may_be_unfinished)
        self._next = next(self._entries, None)
        self._greatest = -1

    def see(self, first_offset: int, last_offset: int, max_timestamp: int) -> None:
        """The next batch; of magic 0 and 1 `first_offset` may be lower than it is."""
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
        """All batches were seen."""
        while self._next is not None:
            self._fault(self._next, "the segment ends before it")
            self._next = next(self._entries, None)
        self._reader.close()

    def _fault(self, entry: TimestampOffset, what: str) -> None:
        self._found.add(self._path, f"an entry gives offset {entry.offset} the time {entry.timestamp}, {what}")

    def _checked_entries(self, may_be_unfinished: bool) -> Iterator[TimestampOffset]:
        """The entries up to the first that is out of order or nothing but zeros."""
        _check_size(self._reader, TimeIndex.layout.size, self._found, may_be_unfinished)
        previous = TimestampOffset(-1, self._reader.base_offset)
        for number, entry in enumerate(self._reader.timestamp_offsets()):
            where = number * TimeIndex.layout.size
            if entry == (0, self._reader.base_offset) and (number or may_be_unfinished):
                if not may_be_unfinished:
                    self._found.add(self._path, "zeros in place of entries", where)
                return
            if entry.timestamp <= previous.timestamp or entry.offset < previous.offset:
                what = f"{entry.timestamp} of offset {entry.offset} behind {previous.timestamp} of {previous.offset}"
                self._found.add(self._path, f"entries are out of order: {what}", where)
                return
            previous = entry
            yield entry


def _check_size(reader: IndexReader, entry_bytes: int, found: Findings, may_be_unfinished: bool) -> None:
    surplus = reader.size_bytes % entry_bytes
    if surplus and not may_be_unfinished:
        found.add(reader.path, f"{surplus} bytes behind the last entry", reader.size_bytes - surplus)
