"""Read-only access to the entries of index files, for tools. The file is read in pieces.

Kafka preallocates the indexes of the active segment, so an index that was not closed properly ends in zeros.
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct

from ..files.files import Files
from .offset_index import OffsetIndex, OffsetPosition
from .time_index import TimeIndex, TimestampOffset

_ENTRIES_AT_ONCE = 4096


class IndexReader:
    """One `.index` or `.timeindex`, of the size it has when it is opened. Raises OSError, also while reading."""

    def __init__(self, files: Files, path: str, base_offset: int) -> None:
        self._file = files.open_to_read(path)
        self.path = path
        self.base_offset = base_offset
        self.size_bytes = self._file.size()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def offset_positions(self) -> Iterator[OffsetPosition]:
        """Yield the entries of an `.index`, including zeros at the end."""
        for relative, position in self._entries(OffsetIndex.layout):
            yield OffsetPosition(self.base_offset + relative, position)

    def timestamp_offsets(self) -> Iterator[TimestampOffset]:
        """Yield the entries of a `.timeindex`, including zeros at the end."""
        for timestamp, relative in self._entries(TimeIndex.layout):
            yield TimestampOffset(timestamp, self.base_offset + relative)

    def _entries(self, layout: Struct) -> Iterator[tuple[int, int]]:
        count = self.size_bytes // layout.size
        for first in range(0, count, _ENTRIES_AT_ONCE):
            size = min(_ENTRIES_AT_ONCE, count - first) * layout.size
            data = self._file.read_at(first * layout.size, size)
            yield from layout.iter_unpack(data[: len(data) // layout.size * layout.size])
