"""Decodes the record batches of a range of offsets into Arrow columns."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from ...protocol.errors import CorruptRecordError, InvalidRecordError
from ...protocol.records.batch import HEADER_SIZE_V2, RecordBatch, TimestampType
from ...protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES, decompress
from ...protocol.records.message_set import check_inner_crcs
from ...protocol.records.record import read_records
from .plain_walk import add_record
from .row_buffers import DATA_BYTES, ROWS, BatchFacts, Gathered, RowBuffers


@cache
def _compiled_walk() -> Any:
    """Returns the compiled walk; None without numba. Imports it on first use, because the import takes half a second
    that query planning does not need.
    """
    try:
        from . import compiled_walk
    except ImportError:
        return None
    return compiled_walk


class BatchDecoder:
    """Gathers the rows of batches with offsets in [`start`, `end`). Memory: one batch and one set of columns."""

    def __init__(
        self,
        start: int,
        end: int,
        *,
        with_headers: bool,
        check_crcs: bool,
        rows: int = ROWS,
        data_bytes: int = DATA_BYTES,
        compiled: bool = True,
    ) -> None:
        """`compiled` False selects the walk in plain Python, which is also used without numba."""
        self._start = start
        self._end = end
        self._with_headers = with_headers
        self._check_crcs = check_crcs
        self._compiled = compiled
        self._buffers = RowBuffers(rows=rows, data_bytes=data_bytes, with_headers=with_headers)

    def skip_to(self, start: int) -> None:
        """Ignores offsets below `start` from now on."""
        self._start = start

    def add(self, batch: RecordBatch, position: int = 0) -> Iterator[Gathered]:
        """Adds the rows of a batch; yields the gathered rows each time the buffers are full. A control batch has no
        rows.

        Raises CorruptRecordError, InvalidRecordError or UnsupportedCompressionTypeError for a broken batch.
        """
        if self._check_crcs:
            check_checksums(batch)
        if batch.is_control or batch.last_offset < self._start:
            return
        facts = _facts(batch, position)
        compiled_walk = _compiled_walk() if self._compiled and batch.magic == 2 else None
        walked = self._walk_plainly(batch) if compiled_walk is None else self._walk(compiled_walk, batch)
        for record_bytes in walked:
            if self._buffers.rows:
                self._buffers.describe(facts)
                yield self._buffers.take()
            else:
                self._buffers.reserve(record_bytes)
        self._buffers.describe(facts)

    def rest(self) -> Iterator[Gathered]:
        """Yields the remaining rows, if any."""
        if self._buffers.rows:
            yield self._buffers.take()

    def _walk(self, compiled_walk: Any, batch: RecordBatch) -> Iterator[int]:
        """Walks the batch; yields the size in bytes of each record that does not fit into the buffers."""
        has_append_time = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
        payload = np.frombuffer(_plain(batch), np.uint8)
        payload.flags.writeable = False  # else numba compiles the walk twice, for writeable and read-only payloads
        cursor = compiled_walk.new_cursor()
        while True:
            outcome = compiled_walk.walk(
                payload,
                cursor,
                batch.record_count,
                batch.base_offset,
                batch.last_offset_delta,
                batch.base_timestamp,
                batch.max_timestamp,
                has_append_time,
                self._start,
                self._end,
                self._with_headers,
                self._buffers.arrays,
            )
            if outcome == compiled_walk.DONE:
                return
            if outcome == compiled_walk.BROKEN:
                index = int(cursor[compiled_walk.AT_INDEX])
                raise InvalidRecordError(f"Record {index} of the batch at offset {batch.base_offset} is broken")
            yield int(cursor[compiled_walk.AT_RECORD_BYTES])

    def _walk_plainly(self, batch: RecordBatch) -> Iterator[int]:
        """Like `_walk`, in plain Python and for any magic."""
        for record in read_records(batch):
            if not self._start <= record.offset < self._end:
                continue
            while not add_record(record, self._buffers.arrays, with_headers=self._with_headers):
                names = sum(len(name) * 4 + len(value or b"") + 2 for name, value in record.headers)
                yield len(record.key or b"") + len(record.value or b"") + names


def check_checksums(batch: RecordBatch) -> None:
    """Checks the checksums of a batch. Raises CorruptRecordError."""
    if not batch.is_valid_crc():
        raise CorruptRecordError(
            f"The batch at offset {batch.base_offset} is corrupt: "
            f"stored crc {batch.crc:#x}, computed {batch.compute_crc():#x}"
        )
    if batch.magic < 2 and batch.is_compressed:
        check_inner_crcs(batch)


def _plain(batch: RecordBatch) -> Any:
    # The cleaner's empty batches keep their codec bits but have no payload to decompress.
    if batch.record_count == 0 and batch.size_bytes == HEADER_SIZE_V2:
        return b""
    return decompress(batch.compression, batch.payload(), DEFAULT_MAX_DECOMPRESSED_BYTES)


def _facts(batch: RecordBatch, position: int) -> BatchFacts:
    codec = batch.compression.name.lower()
    return BatchFacts(int(batch.timestamp_type), batch.partition_leader_epoch, batch.producer_id, codec, position)
