"""Read-only access to the batches of a `.log` file, for tools and for jobs that read log directories.

The file may belong to a stopped or a running broker, pybroker or Kafka: nothing is locked or written. Records appended
during the read are ignored. Memory is bounded by one megabyte or the largest batch.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from ...protocol.errors import CorruptRecordError
from ...protocol.records.batch import HEADER_SIZE_V2, LOG_OVERHEAD, MAGIC_POSITION, RecordBatch, read_header
from ..files.files import File, Files

_CHUNK_BYTES = 1 << 20
_HEADER_PAGES_BYTES = 64 << 10
_HEADER_PAGE_BYTES = 4 << 10


class StoredBatch(NamedTuple):
    """A batch and its position in the file. Its buffer is not reused."""

    position: int
    batch: RecordBatch


class Tail(NamedTuple):
    """The bytes after the last whole batch of a file.

    Attributes:
        position: where they begin.
        size_bytes: how many they are.
        reason: why no batch begins there.
        is_unfinished: a crash during an append may have left them: a batch that is cut off, or only zeros.
    """

    position: int
    size_bytes: int
    reason: str
    is_unfinished: bool


class SegmentReader:
    """One `.log` file, read from the front.

    After a walk to the end, `tail` describes the bytes after the last batch.
    """

    def __init__(self, files: Files, path: str, *, max_bytes: int | None = None) -> None:
        """Open the file to read its first `max_bytes`, or its current size. Raises OSError."""
        self._file = files.open_to_read(path)
        self.path = path
        size = self._file.size()
        self.size_bytes = size if max_bytes is None else min(size, max_bytes)
        self.tail: Tail | None = None

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> SegmentReader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def batches(self) -> Iterator[StoredBatch]:
        """Yield the whole batches of any magic. Checksums and records are not checked. Raises OSError."""
        position, end = 0, self.size_bytes
        self.tail = None
        while position < end:
            chunk = self._file.read_at(position, min(_CHUNK_BYTES, end - position))
            first = _header_at(chunk, 0)
            if first is None or position + first.size_bytes > end:
                self.tail = self._tail(position, chunk, first)
                return
            if first.size_bytes > len(chunk):
                chunk = self._file.read_at(position, first.size_bytes)
            index = 0
            while (batch := _header_at(chunk, index)) is not None and batch.end <= len(chunk):
                yield StoredBatch(position + index, batch)
                index = batch.end
            if index == 0:  # the file was truncated meanwhile
                return
            position += index

    def headers(self) -> Iterator[StoredBatch]:
        """Like `batches`, but only the headers are read: the buffers do not contain the records."""
        position, end = 0, self.size_bytes
        chunk, chunk_start = b"", 0
        previous_bytes = 0
        self.tail = None
        while position < end:
            index = position - chunk_start
            if index + HEADER_SIZE_V2 > len(chunk):
                wanted = _HEADER_PAGES_BYTES if previous_bytes < _HEADER_PAGE_BYTES else _HEADER_PAGE_BYTES
                chunk, chunk_start, index = self._file.read_at(position, min(wanted, end - position)), position, 0
            batch = _header_at(chunk, index)
            if batch is None or position + batch.size_bytes > end:
                self.tail = self._tail(position, chunk[index:], batch)
                return
            yield StoredBatch(position, batch)
            previous_bytes = batch.size_bytes
            position += previous_bytes

    def read(self, position: int, size_bytes: int) -> bytes:
        """Return some bytes of the file, fewer at its end. Raises OSError."""
        return self._file.read_at(position, size_bytes)

    def _tail(self, position: int, chunk: bytes, header: RecordBatch | None) -> Tail:
        size = self.size_bytes - position
        if header is not None:
            reason = f"a batch of {header.size_bytes} bytes is cut off after {size}"
            return Tail(position, size, reason, is_unfinished=True)
        why = _why_no_header(chunk)
        if why is None:
            return Tail(position, size, f"a batch's header is cut off after {size} bytes", is_unfinished=True)
        if not any(chunk) and _holds_only_zeros(self._file, position, self.size_bytes):
            return Tail(position, size, f"{size} zeros", is_unfinished=True)
        return Tail(position, size, why, is_unfinished=False)


def base_offset_of(path: str) -> int | None:
    """Return the offset in the name of a segment or snapshot file, or None."""
    digits = os.path.basename(path).partition(".")[0]
    return int(digits) if digits.isascii() and digits.isdigit() else None


def _header_at(chunk: bytes, index: int) -> RecordBatch | None:
    try:
        return read_header(chunk, index, len(chunk))
    except CorruptRecordError:
        return None


def _why_no_header(chunk: bytes) -> str | None:
    """Return why `chunk` is no batch header; None when it is too short to tell."""
    try:
        read_header(chunk, 0, len(chunk))
    except CorruptRecordError:
        length = int.from_bytes(chunk[8:LOG_OVERHEAD], "big", signed=True)
        magic = f" in magic {chunk[MAGIC_POSITION]}" if len(chunk) > MAGIC_POSITION else ""
        return f"no batch has a length of {length}{magic}"
    return None


def _holds_only_zeros(file: File, position: int, end: int) -> bool:
    while position < end:
        chunk = file.read_at(position, min(_CHUNK_BYTES, end - position))
        if not chunk or chunk.count(0) != len(chunk):
            return False
        position += len(chunk)
    return True
