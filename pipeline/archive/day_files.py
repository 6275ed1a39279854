"""In a task: the rows of a range of offsets as Parquet files, one a day, as they come from Arrow.

Spark would make rows of its own of them, and columns of these again. A task that can reach the table by a path of its
machine's file system writes the files by itself; the columns are those that Spark would have written.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from ..options.read_options import ReadOptions
from ..topics.offset_ranges import OffsetRange
from ..topics.topic_reader import read_range
from .manifest import PartitionRows

CODECS: Mapping[str, str] = MappingProxyType(
    {"none": "none", "uncompressed": "none", "snappy": "snappy", "gzip": "gzip", "zstd": "zstd", "lz4_raw": "lz4"}
)
"""By their names in `spark.sql.parquet.compression.codec`, those that Arrow has too, by its names."""

ROW_GROUP_BYTES = 16 << 20
"""Of columns in Arrow, all days together; also what a task holds of rows that are not in a file."""
MOST_OPEN = 16
"""Files at a time. Rows of many days make more of them, and smaller ones."""

_DAY_US = 86_400_000_000
_LAST_DAY_OF_FOUR_DIGITS = 2_932_896
_REPEATING = ["key", "value", "partition", "timestampType", "headers.list.element.key", "headers.list.element.value"]
"""Columns for which a dictionary may be worth it, as long as it is small."""


class WrittenFile(NamedTuple):
    """`path` is relative to the directory that was written to."""

    path: str
    size_bytes: int
    rows: PartitionRows


def write_range(offsets: OffsetRange, source: ReadOptions, directory: str, codec: str) -> Iterator[WrittenFile]:
    """The files that hold the rows of a range. Raises OSError, and whatever reading raises.

    Nobody else writes to files of that name: what a task leaves that fails is for whoever deletes the directory.
    """
    at = offsets.topic_partition
    files = DayFiles(Path(directory), at.topic, at.partition, codec)
    for rows in read_range(offsets, source):
        files.add(rows)
    yield from files.finish()


class DayFiles:
    """Rows of one partition, by the day (UTC) of their timestamps."""

    def __init__(
        self,
        directory: Path,
        topic: str,
        partition: int,
        codec: str,
        *,
        group_bytes: int = ROW_GROUP_BYTES,
        most_open: int = MOST_OPEN,
    ) -> None:
        self._directory = directory
        self._topic = topic
        self._partition = partition
        self._codec = codec
        self._group_bytes = group_bytes
        self._most_open = most_open
        self._open: dict[int, _DayFile] = {}
        self._held_bytes = 0
        self._closed: list[WrittenFile] = []

    def add(self, rows: pa.RecordBatch) -> None:
        """Rows of the format "pybroker", behind those that were added before. Raises OSError."""
        kept = rows.drop_columns(["topic"])  # the directory's name tells it
        days = np.floor_divide(rows.column("timestamp").cast(pa.int64()).to_numpy(), _DAY_US)
        first, last = int(days.min()), int(days.max())
        for day in [first] if first == last else np.unique(days).tolist():
            of_day = kept if first == last else kept.filter(pa.array(days == day))
            self._file_of(day, of_day.schema).add(of_day)
            self._held_bytes += of_day.nbytes
        if self._held_bytes >= self._group_bytes:
            self._write_groups()

    def finish(self) -> list[WrittenFile]:
        """All files, closed. Raises OSError."""
        for day in list(self._open):
            self._close(day)
        return self._closed

    def _file_of(self, day: int, schema: pa.Schema) -> _DayFile:
        file = self._open.pop(day, None)
        if file is None:
            if len(self._open) == self._most_open:
                self._close(next(iter(self._open)))
            name = f"part-{self._partition:05}-{uuid.uuid4()}.parquet"
            file = _DayFile(self._directory, f"topic={self._topic}/date={date_of(day)}/{name}", schema, self._codec)
        self._open[day] = file  # as the one that got rows last
        return file

    def _write_groups(self) -> None:
        for file in self._open.values():
            file.write_group()
        self._held_bytes = 0

    def _close(self, day: int) -> None:
        self._closed.append(self._open.pop(day).close(self._partition))


class _DayFile:
    """A file that is being written. Holds rows that make its next row group."""

    def __init__(self, directory: Path, path: str, schema: pa.Schema, codec: str) -> None:
        self._path = path
        self._place = directory / path
        self._place.parent.mkdir(parents=True, exist_ok=True)
        self._writer = parquet.ParquetWriter(
            self._place, schema, compression=codec, use_dictionary=_REPEATING, store_schema=False
        )
        self._held: list[pa.RecordBatch] = []
        self._rows = 0
        self._first = self._last = 0

    def add(self, rows: pa.RecordBatch) -> None:
        offsets = rows.column("offset")
        if self._rows == 0:
            self._first = offsets[0].as_py()
        self._last = offsets[-1].as_py()
        self._rows += rows.num_rows
        self._held.append(rows)

    def write_group(self) -> None:
        if self._held:
            table = pa.Table.from_batches(self._held)
            self._held = []
            self._writer.write_table(table, row_group_size=table.num_rows)

    def close(self, partition: int) -> WrittenFile:
        self.write_group()
        self._writer.close()
        rows = PartitionRows(partition, self._rows, self._first, self._last)
        return WrittenFile(self._path, os.path.getsize(self._place), rows)


def date_of(day: int) -> str:
    """A day since 1970 as Spark names directories after it: a year of more than four digits has a sign."""
    year, month, of_month = str(np.datetime64(day, "D")).rsplit("-", 2)
    sign = "+" if day > _LAST_DAY_OF_FOUR_DIGITS else ""
    return f"{sign}{int(year):0{5 if year.startswith('-') else 4}}-{month}-{of_month}"
