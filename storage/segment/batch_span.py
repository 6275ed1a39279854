"""Scans of a `.log` file: positions and sizes of its batches from their headers, or whole batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ...protocol.errors import CorruptRecordError
from ...protocol.records.batch import HEADER_SIZE_V2, LOG_OVERHEAD, RecordBatch, read_header
from ..files.files import File

_PAGE_BYTES = 4096
_CHUNK_BYTES = 1 << 20


class BatchSpan(NamedTuple):
    """One batch in a file. For magic 0 and 1 `base_offset` is the last offset, the only one in the header."""

    position: int
    size_bytes: int
    base_offset: int
    last_offset: int
    magic: int
    leader_epoch: int
    max_timestamp: int


def scan_spans(file: File, position: int, end_position: int, *, cached_only: bool = False) -> Iterator[BatchSpan]:
    """Yield the whole batches of `file` from `position`, where one begins, to `end_position`.

    Only headers are read, a page at a time. A batch cut off at the end is left out. Raises CorruptRecordError for an
    invalid header, and with `cached_only` NotCachedError instead of waiting for the disk.
    """
    read_at = file.read_cached_at if cached_only else file.read_at
    chunk: bytes | bytearray = b""
    chunk_start = position
    while position + LOG_OVERHEAD < end_position:
        index = position - chunk_start
        if index + HEADER_SIZE_V2 > len(chunk):
            chunk = read_at(position, min(_PAGE_BYTES, end_position - position))
            chunk_start = position
            index = 0
        header = read_header(chunk, index, len(chunk))
        if header is None:
            return
        size = header.size_bytes
        if position + size > end_position:
            return
        yield BatchSpan(
            position,
            size,
            header.base_offset,
            header.last_offset,
            header.magic,
            header.partition_leader_epoch,
            header.max_timestamp,
        )
        position += size


def read_batches(file: File, position: int, end_position: int) -> Iterator[tuple[int, RecordBatch]]:
    """Yield (position, batch) of the whole batches of `file`, with their bytes; read a megabyte at a time.

    A batch's buffer is valid until the next batch is requested. Stops before a batch cut off at the end. Raises
    CorruptRecordError for an invalid header.
    """
    while position + LOG_OVERHEAD < end_position:
        chunk = file.read_at(position, min(_CHUNK_BYTES, end_position - position))
        first = read_header(chunk, 0, len(chunk))
        if first is None or position + first.size_bytes > end_position:
            return
        if first.size_bytes > len(chunk):
            chunk = file.read_at(position, first.size_bytes)
        index = 0
        while True:
            batch = read_header(chunk, index, len(chunk))
            if batch is None or batch.end > len(chunk):
                break
            yield position + index, batch
            index = batch.end
        if index == 0:  # the file became shorter meanwhile
            return
        position += index


def check_batch(batch: RecordBatch) -> None:
    """Raise CorruptRecordError unless the checksum of the batch is valid."""
    if not batch.is_valid_crc():
        raise CorruptRecordError(f"stored crc {batch.crc:#x}, computed {batch.compute_crc():#x}")
