"""Adds records to row buffers one by one, in plain Python: slow and obvious.

It is used for messages of magic 0 and 1 and without numba. Tests compare the compiled walk with it.
"""

from __future__ import annotations

import numpy as np

from ...protocol.records.record import Record
from .row_buffers import (
    AT_HEADER_BYTES,
    AT_HEADERS,
    AT_KEY_BYTES,
    AT_NAME_BYTES,
    AT_ROWS,
    AT_VALUE_BYTES,
    RowArrays,
)

_MOST_MS = (1 << 63) // 1000 - 1


def add_record(record: Record, rows: RowArrays, *, with_headers: bool) -> bool:
    """Adds a record; returns False and changes nothing if it does not fit behind the gathered rows."""
    counts = rows.counts
    names = [name.encode("utf-8", "surrogateescape") for name, _ in record.headers] if with_headers else []
    values = [value for _, value in record.headers] if with_headers else []
    if not (
        counts[AT_ROWS] < len(rows.offsets)
        and counts[AT_KEY_BYTES] + len(record.key or b"") <= len(rows.key_data)
        and counts[AT_VALUE_BYTES] + len(record.value or b"") <= len(rows.value_data)
        and counts[AT_HEADERS] + len(names) <= len(rows.has_header_value)
        and counts[AT_NAME_BYTES] + sum(map(len, names)) <= len(rows.name_data)
        and counts[AT_HEADER_BYTES] + sum(len(value or b"") for value in values) <= len(rows.header_value_data)
    ):
        return False
    row = int(counts[AT_ROWS])
    rows.offsets[row] = record.offset
    rows.timestamps_us[row] = min(max(record.timestamp_ms, -_MOST_MS), _MOST_MS) * 1000
    _append(record.key, row, counts, AT_KEY_BYTES, rows.has_key, rows.key_ends, rows.key_data)
    _append(record.value, row, counts, AT_VALUE_BYTES, rows.has_value, rows.value_ends, rows.value_data)
    for name, value in zip(names, values, strict=True):
        header = int(counts[AT_HEADERS])
        _append(name, header, counts, AT_NAME_BYTES, None, rows.name_ends, rows.name_data)
        _append(
            value,
            header,
            counts,
            AT_HEADER_BYTES,
            rows.has_header_value,
            rows.header_value_ends,
            rows.header_value_data,
        )
        counts[AT_HEADERS] += 1
    rows.header_ends[row + 1] = counts[AT_HEADERS]
    counts[AT_ROWS] += 1
    return True


def _append(
    content: bytes | None,
    index: int,
    counts: np.ndarray,
    at_bytes: int,
    present: np.ndarray | None,
    ends: np.ndarray,
    data: np.ndarray,
) -> None:
    begin = int(counts[at_bytes])
    end = begin + len(content or b"")
    data[begin:end] = np.frombuffer(content or b"", np.uint8)
    if present is not None:
        present[index] = content is not None
    ends[index + 1] = end
    counts[at_bytes] = end
