"""Writes the rows of a range of offsets as Parquet files, one a day, straight from Arrow. Runs in a task.

**Why**: Spark would convert Arrow columns to its own rows and back to columns. A task that can reach the table by a
local path avoids that. The columns are the same as those that Spark writes.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
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
"""Codecs that both Spark and Arrow have: names in `spark.sql.parquet.compression.codec` to Arrow's names."""

ROW_GROUP_BYTES = 16 << 20
"""Bytes of Arrow columns in a row group, all days together; also the limit of rows held in memory by a task."""
MOST_OPEN = 16
"""Open files at a time. Rows of more days than this lead to more and smaller files."""

_DAY_US = 86_400_000_000
_LAST_DAY_OF_FOUR_DIGITS = 2_932_896
_REPEATING = ["key", "value", "partition", "timestampType", "headers.list.element.key", "headers.list.element.value"]
"""Columns with dictionary encoding, which helps as long as the dictionary is small."""


class DayFileError(OSError):
    """A file of the table can't be written, for example because the disk is full; the message names it."""


class WrittenFile(NamedTuple):
    """One written file. `path` is relative to the target directory."""

    path: str
    size_bytes: int
    rows: PartitionRows


def write_range(offsets: OffsetRange, source: ReadOptions, directory: str, codec: str) -> Iterator[WrittenFile]:
    """Writes the rows of a range and yields the files. Raises DayFileError and the errors of reading.

    File names are unique. If a task fails, its files stay until the staging directory is deleted.
    """
    at = offsets.topic_partition
    files = DayFiles(Path(directory), at.topic, at.partition, codec)
    for rows in read_range(offsets, source):
        files.add(rows)
    yield from files.finish()


class DayFiles:
    """Writes rows of one partition into files by the day (UTC) of their timestamps."""

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
        """Adds rows of the format "pybroker", in the order of offsets. Raises DayFileError."""
        kept = rows.drop_columns(["topic"])  # the directory's name holds it
        days = np.floor_divide(rows.column("timestamp").view(pa.int64()).to_numpy(), _DAY_US)
        first, last = int(days.min()), int(days.max())
        for day in [first] if first == last else np.unique(days).tolist():
            of_day = kept if first == last else kept.filter(pa.array(days == day))
            self._file_of(day, of_day.schema).add(of_day)
            self._held_bytes += of_day.nbytes
        if self._held_bytes >= self._group_bytes:
            self._write_groups()

    def finish(self) -> list[WrittenFile]:
        """Closes all files and returns them. Raises DayFileError."""
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
        self._open[day] = file  # makes it the most recently used one
        return file

    def _write_groups(self) -> None:
        for file in self._open.values():
            file.write_group()
        self._held_bytes = 0

    def _close(self, day: int) -> None:
        self._closed.append(self._open.pop(day).close(self._partition))


class _DayFile:
    """A file being written. Holds the rows of its next row group."""

    def __init__(self, directory: Path, path: str, schema: pa.Schema, codec: str) -> None:
        self._path = path
        self._place = directory / path
        with _errors_of(self._place):
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
            with _errors_of(self._place):
                self._writer.write_table(table, row_group_size=table.num_rows)

    def close(self, partition: int) -> WrittenFile:
        self.write_group()
        with _errors_of(self._place):
            self._writer.close()
        rows = PartitionRows(partition, self._rows, self._first, self._last)
        return WrittenFile(self._path, os.path.getsize(self._place), rows)


@contextmanager
def _errors_of(place: Path) -> Iterator[None]:
    """Names the file in errors: PyArrow's do not."""
    try:
        yield
    except OSError as error:
        reason = str(error) if error.errno is None else os.strerror(error.errno)
        raise DayFileError(f"{place} can't be written: {reason}") from None


def date_of(day: int) -> str:
    """Returns the name that Spark gives the directory of a day since 1970; a year of more than four
    digits has a sign."""
    year, month, of_month = str(np.datetime64(day, "D")).rsplit("-", 2)
    sign = "+" if day > _LAST_DAY_OF_FOUR_DIGITS else ""
    return f"{sign}{int(year):0{5 if year.startswith('-') else 4}}-{month}-{of_month}"


def day_of(date: str) -> int:
    """The inverse of `date_of`."""
    return int(np.datetime64(date, "D").astype(np.int64))
