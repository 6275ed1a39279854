"""The walk over the records of a batch with magic 2, compiled by numba and cached on the machine.

It trusts no input: every length is checked against the end of its record before it is used. The layout is described in
`protocol/records/walk.py`. The walk stops when the buffers are full, and continues from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numba
import numpy as np

from .row_buffers import (
    AT_HEADER_BYTES,
    AT_HEADERS,
    AT_KEY_BYTES,
    AT_NAME_BYTES,
    AT_ROWS,
    AT_VALUE_BYTES,
    RowArrays,
)

# Outcomes of a walk.
DONE: Final = 0
FULL: Final = 1
"""The record at the cursor does not fit behind the gathered rows."""
BROKEN: Final = 2

# The cursor: where the walk is in the payload, and the greatest timestamp delta so far.
AT_POSITION, AT_INDEX, AT_PREVIOUS_DELTA, AT_RECORD_BYTES, AT_GREATEST = range(5)

_MOST_MS: Final = (1 << 63) // 1000 - 1
"""The latest timestamp in ms that fits into 64 bits as microseconds; later ones are cut to it."""


def _compiled(function: Callable[..., Any]) -> Any:
    """Compiles by numba with a cache on disk, beside this file or in the user's cache; in memory only if neither is
    writable.
    """
    try:
        return numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:
        return numba.njit(nogil=True)(function)


def new_cursor() -> np.ndarray:
    """Returns a cursor at the first record of a payload."""
    return np.array([0, 0, -1, 0, np.iinfo(np.int64).min], np.int64)


@_compiled
def _varint(data: np.ndarray, position: int, end: int) -> tuple[int, int]:
    """Returns (zigzag varint of up to ten bytes, position behind it); the position is -1 if the
    varint is incomplete."""
    raw = np.uint64(0)
    shift = np.uint64(0)
    while position < end:
        byte = data[position]
        position += 1
        raw |= np.uint64(byte & 0x7F) << shift
        if byte < 0x80:
            return np.int64(raw >> np.uint64(1)) ^ -np.int64(raw & np.uint64(1)), position
        shift += np.uint64(7)
        if shift > np.uint64(63):
            break
    return 0, -1


@_compiled
def walk(
    data: np.ndarray,
    cursor: np.ndarray,
    record_count: int,
    base_offset: int,
    last_delta: int,
    base_timestamp: int,
    append_time: int,
    has_append_time: bool,
    start: int,
    end: int,
    with_headers: bool,
    rows: RowArrays,
) -> int:
    """Adds the records with offsets in [`start`, `end`) to `rows`. Returns DONE, FULL or BROKEN."""
    position = cursor[0]
    index = cursor[1]
    previous = cursor[2]
    counts = rows.counts
    row = counts[AT_ROWS]
    key_bytes = counts[AT_KEY_BYTES]
    value_bytes = counts[AT_VALUE_BYTES]
    size = data.shape[0]
    outcome = DONE
    while index < record_count:
        first = position
        length, position = _varint(data, position, size)
        if position < 0 or length < 0 or length > size - position:
            outcome = BROKEN
            break
        record_end = position + length
        position += 1  # attributes: none are in use
        timestamp_delta, position = _varint(data, position, record_end)
        if position < 0:
            outcome = BROKEN
            break
        delta, position = _varint(data, position, record_end)
        if position < 0 or delta <= previous or delta > last_delta:
            outcome = BROKEN
            break
        key_size, position = _varint(data, position, record_end)
        if position < 0 or key_size < -1 or key_size > record_end - position:
            outcome = BROKEN
            break
        key_start = position
        position += max(key_size, 0)
        value_size, position = _varint(data, position, record_end)
        if position < 0 or value_size < -1 or value_size > record_end - position:
            outcome = BROKEN
            break
        value_start = position
        position += max(value_size, 0)
        header_count, position = _varint(data, position, record_end)
        if position < 0 or header_count < 0 or header_count * 2 > record_end - position:
            outcome = BROKEN
            break
        offset = base_offset + delta
        wanted = start <= offset < end
        if wanted and (
            row == rows.offsets.shape[0]
            or key_bytes + key_size > rows.key_data.shape[0]
            or value_bytes + value_size > rows.value_data.shape[0]
            or (with_headers and not _headers_fit(rows, header_count, record_end - position))
        ):
            cursor[3] = record_end - first
            position = first
            outcome = FULL
            break
        cursor[4] = max(cursor[4], timestamp_delta)
        if wanted and with_headers:
            position = _add_headers(data, position, record_end, header_count, rows)
        else:
            position = _skip_headers(data, position, record_end, header_count)
        if position != record_end:
            outcome = BROKEN
            break
        if wanted:
            rows.offsets[row] = offset
            timestamp = append_time if has_append_time else base_timestamp + timestamp_delta
            rows.timestamps_us[row] = min(max(timestamp, -_MOST_MS), _MOST_MS) * 1000
            rows.has_key[row] = key_size >= 0
            for i in range(key_size):
                rows.key_data[key_bytes + i] = data[key_start + i]
            key_bytes += max(key_size, 0)
            rows.key_ends[row + 1] = key_bytes
            rows.has_value[row] = value_size >= 0
            for i in range(value_size):
                rows.value_data[value_bytes + i] = data[value_start + i]
            value_bytes += max(value_size, 0)
            rows.value_ends[row + 1] = value_bytes
            rows.header_ends[row + 1] = counts[AT_HEADERS]
            row += 1
        previous = delta
        index += 1
    if outcome == DONE and position != size:
        outcome = BROKEN
    cursor[0] = position
    cursor[1] = index
    cursor[2] = previous
    counts[AT_ROWS] = row
    counts[AT_KEY_BYTES] = key_bytes
    counts[AT_VALUE_BYTES] = value_bytes
    return outcome


@_compiled
def _headers_fit(rows: RowArrays, header_count: int, size: int) -> Any:
    counts = rows.counts
    return (
        counts[AT_HEADERS] + header_count <= rows.has_header_value.shape[0]
        and counts[AT_NAME_BYTES] + size <= rows.name_data.shape[0]
        and counts[AT_HEADER_BYTES] + size <= rows.header_value_data.shape[0]
    )


@_compiled
def _add_headers(data: np.ndarray, position: int, end: int, header_count: int, rows: RowArrays) -> int:
    """Returns the position behind the headers; -1 if they are broken."""
    counts = rows.counts
    header = counts[AT_HEADERS]
    name_bytes = counts[AT_NAME_BYTES]
    value_bytes = counts[AT_HEADER_BYTES]
    for _ in range(header_count):
        size, position = _varint(data, position, end)
        if position < 0 or size < 0 or size > end - position:
            return -1
        for i in range(size):
            rows.name_data[name_bytes + i] = data[position + i]
        position += size
        name_bytes += size
        size, position = _varint(data, position, end)
        if position < 0 or size < -1 or size > end - position:
            return -1
        for i in range(size):
            rows.header_value_data[value_bytes + i] = data[position + i]
        position += max(size, 0)
        value_bytes += max(size, 0)
        rows.has_header_value[header] = size >= 0
        header += 1
        rows.name_ends[header] = name_bytes
        rows.header_value_ends[header] = value_bytes
    counts[AT_HEADERS] = header
    counts[AT_NAME_BYTES] = name_bytes
    counts[AT_HEADER_BYTES] = value_bytes
    return position


@_compiled
def _skip_headers(data: np.ndarray, position: int, end: int, header_count: int) -> int:
    """Returns the position behind the headers; -1 if they are broken."""
    for _ in range(header_count):
        size, position = _varint(data, position, end)
        if position < 0 or size < 0 or size > end - position:
            return -1
        position += size
        size, position = _varint(data, position, end)
        if position < 0 or size < -1 or size > end - position:
            return -1
        position += max(size, 0)
    return position
