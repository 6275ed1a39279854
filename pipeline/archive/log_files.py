"""Reads the columns, topic and day of a data file, for the logs of table formats."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from .day_files import day_of
from .manifest import DataFile

_PARTITION_FIELDS = (pa.field("topic", pa.string()), pa.field("date", pa.date32()))
_FIRST_OF_1970 = date(1970, 1, 1).toordinal()


def table_columns(path: Path) -> pa.Schema:
    """Returns the columns of a data file and those that its directory names. Raises OSError."""
    return pa.schema([*parquet.read_schema(path), *_PARTITION_FIELDS])


def distinct_columns(root: Path, files: Iterable[DataFile]) -> list[pa.Schema]:
    """Returns the sets of columns that the files have, in order of the files. Raises OSError."""
    return list(dict.fromkeys(table_columns(root / file.path) for file in files))


def topic_and_date(path: str) -> tuple[str, date]:
    """Returns the values in <table>/topic=…/date=…/<file>

    A day before year 1 or after 9999 becomes the first or last day of these years: with another day, delta-rs can't
    read the table and PyIceberg can't write it. Any producer can send such a timestamp.
    """
    _, topic, day, _ = path.split("/")
    ordinal = day_of(day.removeprefix("date=")) + _FIRST_OF_1970
    return topic.removeprefix("topic="), date.fromordinal(min(max(ordinal, date.min.toordinal()), date.max.toordinal()))
