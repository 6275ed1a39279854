"""The columns of rows that are being gathered, as memory that Arrow takes over as it is.

What is gathered is bounded: by rows, and by bytes of keys, of values and of headers. A single record that is larger
than that gets buffers of its size (`make_room`).
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

# What the walks count, in `RowArrays.counts`.
AT_ROWS, AT_KEY_BYTES, AT_VALUE_BYTES, AT_HEADERS, AT_NAME_BYTES, AT_HEADER_BYTES = range(6)


class RowArrays(NamedTuple):
    """Arrays of a walk. `…_ends[i + 1]` is where the bytes of row i end, `…_ends[0]` is 0; `has_…` is 0 for null.

    Attributes:
        counts: how much is in use: rows, bytes of keys and of values, headers, bytes of their names and values.
        header_ends: where the headers of a row end, counted in headers; the other `header_…` are by header.
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
    """What all rows of a record batch have in common. `position` is where the batch begins in its file."""

    timestamp_type: int
    leader_epoch: int
    producer_id: int
    codec: str
    position: int


class Gathered(NamedTuple):
    """Rows as columns; `facts[i]` holds for `fact_rows[i]` rows. `headers` is None when they were not asked for."""

    rows: int
    key: pa.Array
    value: pa.Array
    offset: pa.Array
    timestamp: pa.Array
    headers: pa.Array | None
    facts: list[BatchFacts]
    fact_rows: list[int]

    def repeated(self, values: list[int], kind: pa.DataType) -> pa.Array:
        """A column of one value a batch."""
        return pa.array(np.repeat(np.array(values, np.int64), self.fact_rows)).cast(kind)

    def repeated_text(self, values: list[str]) -> pa.Array:
        """A column of one text a batch, of which there are few different ones."""
        codes = pa.array(values).dictionary_encode()
        rows = np.repeat(codes.indices.to_numpy(), self.fact_rows)
        return codes.dictionary.take(pa.array(rows))


class RowBuffers:
    """Rows of one partition."""

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
        """What holds for the rows that were added since the last call."""
        added = self.rows - self._described
        if added:
            self._facts.append(facts)
            self._fact_rows.append(added)
            self._described += added

    def make_room(self, record_bytes: int) -> None:
        """For a record of that size, when there is no row."""
        self.arrays = self._allocate(max(self._data_bytes, record_bytes), record_bytes)

    def take(self) -> Gathered:
        """The rows, all of them described; none is left."""
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
        """New arrays, full of zeros, as Arrow holds those that it took. Pages that are never used cost nothing."""
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
    """Zeros in pages of their own, given back when Arrow lets go of them.

    What malloc gets back of that size it keeps among what is still in use: the more sets of columns a task has had,
    the more memory it had.
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
    """Arrow's validity bitmap; None when nothing is null."""
    if present.all():
        return None
    return pa.py_buffer(np.packbits(present, bitorder="little"))


def _headers(arrays: RowArrays) -> pa.Array:
    """A row without headers has null, as Spark's source has it."""
    rows, headers = int(arrays.counts[AT_ROWS]), int(arrays.counts[AT_HEADERS])
    names = _names(arrays, headers)
    values = _binary(pa.binary(), headers, arrays.has_header_value, arrays.header_value_ends, arrays.header_value_data)
    pairs = pa.StructArray.from_arrays([names, values], fields=list(HEADERS_TYPE.value_type))
    ends = arrays.header_ends[: rows + 1]
    return pa.Array.from_buffers(
        HEADERS_TYPE, rows, [_bitmap((ends[1:] > ends[:-1]).view(np.uint8)), pa.py_buffer(ends)], children=[pairs]
    )


def _names(arrays: RowArrays, headers: int) -> pa.Array:
    """Kafka does not look whether names are UTF-8, Java's clients replace what is not."""
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
