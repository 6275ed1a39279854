"""The columns of gathered rows, in memory that Arrow takes over without a copy.

Size is limited by rows and by bytes of keys, values and headers. A single record above a limit gets buffers of its size
(`reserve`).
"""

from __future__ import annotations

from mmap import MAP_ANONYMOUS, MAP_PRIVATE, mmap
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

ROWS = 1 << 16
DATA_BYTES = 8 << 20
_HEADERS = 1 << 14
_HEADER_BYTES = 1 << 18
_LEAST_PAGES = 1 << 16

HEADERS_TYPE = pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())]))

# Indexes into `RowArrays.counts`.
AT_ROWS, AT_KEY_BYTES, AT_VALUE_BYTES, AT_HEADERS, AT_NAME_BYTES, AT_HEADER_BYTES = range(6)


class RowArrays(NamedTuple):
    """The arrays that a walk fills. `…_ends[i + 1]` is where the bytes of row i end, `…_ends[0]` is 0; `has_…` is 0 for
    null.

    Attributes:
        counts: used rows, bytes of keys, bytes of values, headers, bytes of header names, bytes of header values.
        header_ends: where the headers of a row end, counted in headers; the other `header_…` have one entry a header.
    """

    counts: np.ndarray
    offsets: np.ndarray
    timestamps_us: np.ndarray
    has_key: np.ndarray
    key_ends: np.ndarray
    key_data: np.ndarray
    has_value: np.ndarray
    value_ends: np.ndarray
    value_data: np.ndarray
    header_ends: np.ndarray
    name_ends: np.ndarray
    name_data: np.ndarray
    has_header_value: np.ndarray
    header_value_ends: np.ndarray
    header_value_data: np.ndarray


class BatchFacts(NamedTuple):
    """Values that all rows of a record batch share. `position` is where the batch begins in its file."""

    timestamp_type: int
    leader_epoch: int
    producer_id: int
    codec: str
    position: int


class Gathered(NamedTuple):
    """Rows as columns; `facts[i]` applies to `fact_rows[i]` rows. `headers` is None if they were not requested."""

    rows: int
    key: pa.Array
    value: pa.Array
    offset: pa.Array
    timestamp: pa.Array
    headers: pa.Array | None
    facts: list[BatchFacts]
    fact_rows: list[int]

    def repeated(self, values: list[int], kind: type[np.generic]) -> pa.Array:
        """Returns a column of integers in which all rows of a batch have the same value."""
        return pa.array(np.repeat(np.array(values, kind), self.fact_rows))

    def repeated_text(self, values: list[str]) -> pa.Array:
        """Returns a column in which all rows of a batch have the same text; there are few different texts."""
        codes = pa.array(values).dictionary_encode()
        rows = np.repeat(codes.indices.to_numpy(), self.fact_rows)
        return codes.dictionary.take(pa.array(rows))


class RowBuffers:
    """Buffers for rows of one partition."""

    def __init__(self, *, rows: int = ROWS, data_bytes: int = DATA_BYTES, with_headers: bool) -> None:
        self._row_limit = rows
        self._data_bytes = data_bytes
        self._with_headers = with_headers
        self.arrays = self._allocate(data_bytes)
        self._facts: list[BatchFacts] = []
        self._fact_rows: list[int] = []
        self._described = 0

    @property
    def rows(self) -> int:
        return int(self.arrays.counts[AT_ROWS])

    def describe(self, facts: BatchFacts) -> None:
        """Sets the facts of the rows added since the last call."""
        added = self.rows - self._described
        if added:
            self._facts.append(facts)
            self._fact_rows.append(added)
            self._described += added

    def reserve(self, record_bytes: int) -> None:
        """Makes buffers large enough for one record; only valid without rows."""
        self.arrays = self._allocate(max(self._data_bytes, record_bytes), record_bytes)

    def take(self) -> Gathered:
        """Returns the rows as columns and empties the buffers. All rows must be described."""
        arrays, rows = self.arrays, self.rows
        taken = Gathered(
            rows=rows,
            key=_binary(pa.binary(), rows, arrays.has_key, arrays.key_ends, arrays.key_data),
            value=_binary(pa.binary(), rows, arrays.has_value, arrays.value_ends, arrays.value_data),
            offset=_fixed(pa.int64(), rows, arrays.offsets),
            timestamp=_fixed(pa.timestamp("us", tz="UTC"), rows, arrays.timestamps_us),
            headers=_headers(arrays) if self._with_headers else None,
            facts=self._facts,
            fact_rows=self._fact_rows,
        )
        self.arrays = self._allocate(self._data_bytes)
        self._facts, self._fact_rows, self._described = [], [], 0
        return taken

    def _allocate(self, data_bytes: int, record_bytes: int = 0) -> RowArrays:
        """Allocates new arrays of zeros, because Arrow keeps the old ones. Unused pages cost no memory."""
        rows = self._row_limit
        headers = max(_HEADERS, record_bytes // 2) if self._with_headers else 0
        header_bytes = max(_HEADER_BYTES, record_bytes) if self._with_headers else 0
        return RowArrays(
            counts=np.zeros(6, np.int64),
            offsets=_pages(rows, np.int64),
            timestamps_us=_pages(rows, np.int64),
            has_key=_pages(rows, np.uint8),
            key_ends=_pages(rows + 1, np.int32),
            key_data=_pages(data_bytes, np.uint8),
            has_value=_pages(rows, np.uint8),
            value_ends=_pages(rows + 1, np.int32),
            value_data=_pages(data_bytes, np.uint8),
            header_ends=_pages(rows + 1, np.int32),
            name_ends=_pages(headers + 1, np.int32),
            name_data=_pages(header_bytes, np.uint8),
            has_header_value=_pages(headers, np.uint8),
            header_value_ends=_pages(headers + 1, np.int32),
            header_value_data=_pages(header_bytes, np.uint8),
        )


def _pages(count: int, kind: type[np.generic]) -> np.ndarray[Any, Any]:
    """Returns zeros in memory pages of their own, which are returned to the system when Arrow releases them.

    malloc would keep freed blocks of this size between used ones, so a task's memory would grow with each set of
    columns.
    """
    size = count * np.dtype(kind).itemsize
    if size < _LEAST_PAGES:
        return np.zeros(count, kind)
    return np.frombuffer(mmap(-1, size, flags=MAP_PRIVATE | MAP_ANONYMOUS), kind)


def _fixed(kind: pa.DataType, rows: int, values: np.ndarray) -> pa.Array:
    return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(values[:rows])])


def _binary(kind: pa.DataType, rows: int, present: np.ndarray, ends: np.ndarray, data: np.ndarray) -> pa.Array:
    buffers = [_bitmap(present[:rows]), pa.py_buffer(ends[: rows + 1]), pa.py_buffer(data[: ends[rows]])]
    return pa.Array.from_buffers(kind, rows, buffers)


def _bitmap(present: np.ndarray) -> pa.Buffer | None:
    """Returns Arrow's validity bitmap; None if no value is null."""
    if present.all():
        return None
    return pa.py_buffer(np.packbits(present, bitorder="little"))


def _headers(arrays: RowArrays) -> pa.Array:
    """Returns the column of headers; null for a row without headers, as in Spark's own source."""
    rows, headers = int(arrays.counts[AT_ROWS]), int(arrays.counts[AT_HEADERS])
    names = _names(arrays, headers)
    values = _binary(pa.binary(), headers, arrays.has_header_value, arrays.header_value_ends, arrays.header_value_data)
    pairs = pa.StructArray.from_arrays([names, values], fields=list(HEADERS_TYPE.value_type))
    ends = arrays.header_ends[: rows + 1]
    return pa.Array.from_buffers(
        HEADERS_TYPE, rows, [_bitmap((ends[1:] > ends[:-1]).view(np.uint8)), pa.py_buffer(ends)], children=[pairs]
    )


def _names(arrays: RowArrays, headers: int) -> pa.Array:
    """Returns the column of header names. Kafka does not check that names are UTF-8; like Java clients, this replaces
    invalid bytes.
    """
    buffers = [
        None,
        pa.py_buffer(arrays.name_ends[: headers + 1]),
        pa.py_buffer(arrays.name_data[: arrays.name_ends[headers]]),
    ]
    names = pa.Array.from_buffers(pa.string(), headers, buffers)
    try:
        names.validate(full=True)
    except pa.ArrowInvalid:
        raw = pa.Array.from_buffers(pa.binary(), headers, buffers)
        return pa.array([name.as_py().decode("utf-8", "replace") for name in raw], pa.string())
    return names
