"""Fast check of the records of a batch with the walk compiled by numba, without a Python object for each record.

It only tells whether all records are valid. If not, the plain walk finds the faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

from ...protocol.errors import KafkaError
from ...protocol.records.batch import RecordBatch, TimestampType
from ...protocol.records.compression import DEFAULT_MAX_DECOMPRESSED_BYTES
from ...protocol.records.record import plain_payload
from ...storage.verify.batch_check import batch_faults

_NO_TIMESTAMP = -1


def quick_batch_faults(batch: RecordBatch, *, with_records: bool) -> Iterator[str]:
    """Returns the same faults as `batch_faults`."""
    is_for_walk = with_records and batch.magic >= 2 and _compiled_walk() is not None
    if is_for_walk and not any(batch_faults(batch, with_records=False)) and _records_are_well(batch):
        return
    yield from batch_faults(batch, with_records=with_records)


def _records_are_well(batch: RecordBatch) -> bool:
    import numpy as np

    walk, no_rows = _compiled_walk()
    try:
        payload = np.frombuffer(plain_payload(batch, DEFAULT_MAX_DECOMPRESSED_BYTES), np.uint8)
    except KafkaError:
        return False
    cursor = walk.new_cursor()
    base, delta = batch.base_offset, batch.last_offset_delta
    # An empty range of offsets makes the walk check every record and gather none.
    outcome = walk.walk(payload, cursor, batch.record_count, base, delta, 0, 0, False, 0, 0, False, no_rows)
    if outcome != walk.DONE:
        return False
    if batch.record_count == 0 or batch.timestamp_type is not TimestampType.CREATE_TIME:
        return True
    greatest = batch.base_timestamp + int(cursor[walk.AT_GREATEST])
    return max(greatest, _NO_TIMESTAMP) == batch.max_timestamp


@cache
def _compiled_walk() -> Any:
    """Returns the compiled walk and arrays for no rows; None without numba."""
    try:
        from ..columns import compiled_walk
        from ..columns.row_buffers import RowBuffers
    except ImportError:
        return None
    return compiled_walk, RowBuffers(rows=1, data_bytes=1, with_headers=False).arrays
